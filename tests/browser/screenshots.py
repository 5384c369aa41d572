"""`make screenshots`: the README's pictures, of the demo account as currently loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, expect, sync_playwright

from tests import postgres
from tests.browser.chromium import CHROMIUM_FLAGS, chromium_path
from tests.servers import LiveServer, serve

FOLDER = Path("docs/screenshots")
WIDTH, HEIGHT = 1280, 860
QUESTION = "cost-explorer/?period=last_6_months&granularity=month&group_by=service_category&compare_to=previous_period"
Theme = Literal["light", "dark"]
PICTURES: list[tuple[str, Theme, str]] = [("overview", "light", ""), ("cost-explorer", "dark", QUESTION)]


def take(server: LiveServer) -> None:
    server.manage("load_demo", "--verbosity=0")
    demo = json.loads((Path(server.environment["VAR_DIR"]) / "demo.json").read_text())
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=list(CHROMIUM_FLAGS))
        for name, theme, path in PICTURES:
            context = chromium.new_context(
                base_url=server.url,
                viewport={"width": WIDTH, "height": HEIGHT},
                color_scheme=theme,
                reduced_motion="reduce",
            )
            page = context.new_page()
            sign_in(page, demo)
            page.goto(f"/a/{demo['account']}/{path}")
            shoot(page, name)
            context.close()
        chromium.close()


def sign_in(page: Page, demo: dict[str, Any]) -> None:
    page.goto("/auth/login/")
    page.get_by_label("Email").fill(demo["email"])
    page.get_by_label("Password").fill(demo["password"])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/a/**")


def shoot(page: Page, name: str) -> None:
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    print(f"{path}: {path.stat().st_size // 1000} kB")  # noqa: T201 a script that says what it did


def main() -> None:
    with postgres.throwaway_run(), serve() as server:
        take(server)


if __name__ == "__main__":
    main()
