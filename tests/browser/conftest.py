"""A real server and Debian's chromium. A page that logs an error, or breaks the security policy, fails its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.chromium import CHROMIUM_FLAGS, chromium_path
from tests.cast import PASSWORD
from tests.servers import LiveServer, serve

SECONDS = 20

NewPage = Callable[..., Page]


@pytest.fixture(scope="session")
def console() -> Iterator[LiveServer]:
    """A server with the cast, and a year of cost in Acme; Elsewhere has none."""
    with serve() as server:
        server.run("tests.browser.people:cast_with_costs")
        yield server


# By module, not by session: while Playwright runs, this thread counts as asynchronous, which Django's ORM refuses.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


def is_problem(said: ConsoleMessage) -> bool:
    """Meant, though logged as errors: a form that the server refuses (422), and htmx giving up a request for a newer."""
    meant = ("status of 422", "htmx:afterRequest", "htmx:sendAbort")
    return said.type == "error" and not any(text in said.text for text in meant)


def told(said: ConsoleMessage) -> str:
    """With what it is about: chromium's words of a failed resource do not name it."""
    return f"{said.text} {said.location.get('url', '')}"


@pytest.fixture
def new_page(browser: Browser, console: LiveServer) -> Iterator[NewPage]:
    """Opens pages: `new_page("member", width=390, theme="dark")`, signed in unless the name is empty."""
    problems: list[str] = []
    with ExitStack() as stack:

        def open_page(name: str = "", *, width: int = 1280, theme: str = "light") -> Page:
            context = browser.new_context(
                base_url=console.url,
                viewport={"width": width, "height": 800},
                color_scheme="dark" if theme == "dark" else "light",
                reduced_motion="reduce",
                permissions=["clipboard-read", "clipboard-write"],
            )
            stack.callback(context.close)
            context.set_default_timeout(SECONDS * 1000)
            page = context.new_page()
            page.on("console", lambda said: problems.append(told(said)) if is_problem(said) else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            if name:
                sign_in(page, name)
            return page

        yield open_page
    assert problems == []


def sign_in(page: Page, name: str) -> None:
    page.goto("/auth/login/")
    page.get_by_label("Email").fill(f"{name}@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign In", exact=True).click()
    page.wait_for_url("**/a/**")
