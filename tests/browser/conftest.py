"""Fixtures for browser tests: a real server and Debian's chromium. A page that logs an error, misses a resource, or
violates the security policy fails its test."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Response,
    expect,
    sync_playwright,
)

from tests.browser.chromium import CHROMIUM_FLAGS, chromium_path
from tests.servers import LiveServer, serve

SECONDS = 30

NewPage = Callable[..., Page]


# Methods that act on a page, or read all of it.
ACTS: dict[type, tuple[str, ...]] = {
    Locator: ("blur", "check", "click", "fill", "focus", "press", "press_sequentially", "select_option"),
    Page: ("evaluate",),
}


@pytest.fixture(scope="session")
def console(django_db_setup: None) -> Iterator[LiveServer]:
    """A server with the cast, and a year of cost in Acme; Elsewhere has none."""
    with serve() as server:
        server.run("tests.browser.people:cast_with_costs")
        yield server


# Scope package, not session: while Playwright runs, this thread has an event loop, in which Django's ORM refuses to work.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patched:
        for kind, names in ACTS.items():
            for name in names:
                patched.setattr(kind, name, _on_a_loaded_page(getattr(kind, name)))
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


def _on_a_loaded_page(act: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an action so that it waits for the page's deferred scripts. A test can act on a new page before they have
    run; a person hardly can."""

    @functools.wraps(act)
    def wait_and_act(self: Any, *args: Any, **kwargs: Any) -> Any:
        page: Page = self if isinstance(self, Page) else self.page
        page.wait_for_load_state("load")
        return act(self, *args, **kwargs)

    return wait_and_act


def is_problem(message: ConsoleMessage) -> bool:
    """Return whether a console message is a problem. Not if it is intended: a form that the server refuses (422), and
    requests that htmx aborts for newer ones."""
    expected = ("status of 422", "htmx:afterRequest", "htmx:sendAbort")
    return message.type == "error" and not any(text in message.text for text in expected)


def is_lost(response: Response) -> bool:
    """Return whether a style, script, font or image of a page is missing."""
    return response.status >= 400 and response.request.resource_type not in ("document", "fetch", "xhr")


def console_text(message: ConsoleMessage) -> str:
    """Return the message with its URL, because chromium's text for a failed resource does not name the resource."""
    return f"{message.text} {message.location.get('url', '')}"


@pytest.fixture
def new_page(browser: Browser, console: LiveServer) -> Iterator[NewPage]:
    """A function that opens blank pages: `new_page("member", width=390, theme="dark")`, signed in unless the name is
    empty."""
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
            if name:
                sign_in(context, console, name)
            page = context.new_page()
            page.on(
                "console",
                lambda message: problems.append(console_text(message)) if is_problem(message) else None,
            )
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on(
                "response",
                lambda response: (
                    problems.append(f"{response.status} {response.url}") if is_lost(response) else None
                ),
            )
            return page

        yield open_page
    assert problems == []


def sign_in(context: BrowserContext, console: LiveServer, name: str) -> None:
    """Sign in without the form, which limits attempts of an address per minute. test_oauth.py uses the form."""
    key = console.run("tests.browser.people:session", name)
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": key, "url": console.url}])
