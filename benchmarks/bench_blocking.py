"""How long pages keep the browser from answering, at four times slower a processor, on the demo account.

Chromium is slowed by its own throttling (CDP), which spins in the page's thread; tasks are measured in that thread's
processor time, so other programs of the machine do not count. *blocking* is what each task has beyond 50 ms, summed up
until every chart is drawn; the budget is 600 ms. *bare* is the same for a page without charts, in the same run.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from benchmarks.table import Row
from tests.browser.chromium import CHROMIUM_FLAGS, chromium_path
from tests.browser.screenshots import sign_in
from tests.servers import LiveServer, serve

TURNS = 3
SLOWER = 4
LONG_MS = 50
BUDGET_MS = 600
SECONDS = 120
PAGES = {
    "bare: the glossary": "settings/glossary/",
    "overview": "",
    "dashboard of the demo": "dashboards/1/",
    "cost explorer": "cost-explorer/",
    "unit economics": "unit-economics/",
}
CATEGORIES = ["toplevel", "disabled-by-default-devtools.timeline", "__metadata"]


def measure() -> list[Row]:
    with serve() as server, sync_playwright() as playwright:
        server.manage("load_demo", "--verbosity=0")
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=list(CHROMIUM_FLAGS))
        context, account = _signed_in(chromium, server)
        turns = [
            {name: _tasks(chromium, context, f"/a/{account}/{path}") for name, path in PAGES.items()}
            for _ in range(TURNS)
        ]
        chromium.close()
    return [_row(name, [turn[name] for turn in turns]) for name in PAGES]


def _signed_in(chromium: Browser, server: LiveServer) -> tuple[BrowserContext, str]:
    demo = json.loads((Path(server.environment["VAR_DIR"]) / "demo.json").read_text())
    context = chromium.new_context(
        base_url=server.url, viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
    )
    sign_in(context.new_page(), demo)
    return context, demo["account"]


def _tasks(chromium: Browser, context: BrowserContext, path: str) -> list[float]:
    """Milliseconds of each task of the page's thread."""
    page = context.new_page()
    cdp = context.new_cdp_session(page)
    cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
    cdp.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    chromium.start_tracing(page=page, categories=CATEGORIES)
    page.goto(path)
    _wait_until_drawn(page)
    events: list[dict[str, Any]] = json.loads(chromium.stop_tracing())["traceEvents"]
    page.close()
    return _main_tasks(events)


def _wait_until_drawn(page: Page) -> None:
    page.wait_for_load_state("load")
    expect(page.locator(".board-waits", has_text="Loading…")).to_have_count(0, timeout=SECONDS * 1000)
    expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0, timeout=SECONDS * 1000)


def _main_tasks(events: list[dict[str, Any]]) -> list[float]:
    """Return the tasks of the page's process, which is the one with the most work."""
    threads = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    by_thread: dict[tuple[int, int], list[float]] = {thread: [] for thread in threads}
    for each in events:
        thread = (each["pid"], each["tid"])
        if thread in threads and each["name"] == "RunTask" and "tdur" in each:
            by_thread[thread].append(each["tdur"] / 1000)
    return max(by_thread.values(), key=sum)


def _row(name: str, turns: list[list[float]]) -> Row:
    blocking = median(sum(max(0, task - LONG_MS) for task in tasks) for tasks in turns)
    return {
        "page, first time, 4 x slower": name,
        "CPU ms": round(median(sum(tasks) for tasks in turns)),
        "longest task, ms": round(median(max(tasks) for tasks in turns)),
        "tasks over 50 ms": round(median(sum(task > LONG_MS for task in tasks) for tasks in turns)),
        "blocking ms": round(blocking),
        f"within {BUDGET_MS} ms": blocking <= BUDGET_MS,
    }
