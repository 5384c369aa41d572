"""Every page of connections by axe-core (WCAG 2.2 AA), light and dark, and at four widths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import NewPage
from tests.browser.layout import NEXT_FRAMES, WIDTHS
from tests.browser.test_pages import FAULTS, overflow

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
EXPERIMENTAL = "label-content-name-mismatch"
"""It counts the letter of an avatar, which is hidden, as a part of the name."""

PAGES = [
    "connections/",
    "connections/health/",
    "connections/upload/",
    "connections/api/",
    "connections/1/",
    "connections/3/",
    "connections/3/syncs/",
    "connections/3/edit/",
    "connections/syncs/1/",
    "connections/syncs/5/",
    "connections/syncs/6/",
    "connections/new/",
    "connections/new/?q=nothing+like+it",
    "connections/new/push/",
    *(
        f"connections/new/?connector={name}"
        for name in ("aws_data_exports", "azure_exports", "bigquery", "anthropic_costs", "folder")
    ),
]


def violations(page: Page) -> list[str]:
    """What axe finds, each with where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    results: list[dict[str, Any]] = page.evaluate(
        """([tags, off]) => axe.run(document, {
            runOnly: tags, rules: {[off]: {enabled: false}}, resultTypes: ["violations"],
        }).then(result => result.violations)""",
        [RULES, EXPERIMENTAL],
    )
    return [
        f"{each['id']}: {node['target'][0]} {node['failureSummary'].splitlines()[-1].strip()}"
        for each in results
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(
    ("theme", "paths"),
    [
        ("light", PAGES[::2]),
        ("dark", PAGES[1::2]),
        pytest.param("light", PAGES[1::2], marks=pytest.mark.long),
        pytest.param("dark", PAGES[::2], marks=pytest.mark.long),
    ],
)
def test_axe_finds_nothing_on_any_page_of_connections(
    new_page: NewPage, theme: str, paths: list[str]
) -> None:
    page = new_page("owner", theme=theme)
    faults_by_path = {}
    for path in paths:
        page.goto(f"/a/acme/{path}")
        if faults := [*violations(page), *page.evaluate(FAULTS)]:
            faults_by_path[path] = faults

    assert faults_by_path == {}


@pytest.mark.long  # test_pages.py has most of them at two widths
def test_every_page_of_connections_fits_from_a_phone_to_a_wall(new_page: NewPage) -> None:
    page = new_page("owner")
    wide = []
    for path in PAGES:
        page.goto(f"/a/acme/{path}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(NEXT_FRAMES)
            if beyond := overflow(page):
                wide.append((path, width, beyond))

    assert wide == []


def test_the_findings_of_a_test_have_no_fault(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/connections/new/?connector=folder")
    page.locator("#id_folder").fill("/etc")
    page.get_by_role("button", name="Test connection").press("Enter")
    page.locator(".finding-failed").first.wait_for()

    assert violations(page) == []
