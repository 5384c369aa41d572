"""A monthly report on the screen and on paper."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from tests.browser.conftest import NewPage
from tests.browser.test_connections_accessibility import violations
from tests.long import also_long

pytestmark = pytest.mark.browser

PAPER = 695
"""The width of A4 without its margins, in CSS pixels."""

CUT = """() => [...document.querySelectorAll(".report *")].filter((node) => {
  const box = node.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1);
}).map((node) => node.outerHTML.slice(0, 120))"""


def test_a_report_prints_on_a4_with_all_sections_and_nothing_cut(new_page: NewPage) -> None:
    page = new_page("viewer", width=PAPER)
    page.goto("/a/acme/reports/")
    expect(page.locator("svg.drawing:visible").first).to_be_visible()

    pdf = page.pdf(prefer_css_page_size=True, print_background=True)

    if os.environ.get("KEEP_PDF"):
        Path(os.environ["KEEP_PDF"]).write_bytes(pdf)
    reader = PdfReader(io.BytesIO(pdf))
    pages = [each.extract_text() for each in reader.pages]
    assert 1 < len(pages) < 8
    width, height = (float(each) for each in reader.pages[0].mediabox[2:])
    assert (round(width), round(height)) in [(595, 842), (596, 842)]
    text = "\n".join(pages)
    for section in ("Trend", "Movers", "Services", "Budgets", "Anomalies", "Savings", "Total"):
        assert section in text
    for button in ("Save as PDF", "Cost explorer", "CSV", "Show report"):
        assert button not in text
    for number, each in enumerate(pages, start=1):
        assert "FinOps Console" in each
        assert f"{number} / {len(pages)}" in each
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize(
    ("width", "theme"), [(1280, "light"), (390, "dark"), *also_long((1280, "dark"), (390, "light"))]
)
def test_a_report_fits_its_screen(new_page: NewPage, width: int, theme: str) -> None:
    page = new_page("member", width=width, theme=theme)
    page.goto("/a/acme/reports/")
    expect(page.locator("svg.drawing:visible").first).to_be_visible()

    if os.environ.get("KEEP_SHOTS"):
        page.screenshot(path=Path(os.environ["KEEP_SHOTS"]) / f"report-{width}-{theme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_month_is_chosen_by_a_picker(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/reports/")
    month = page.get_by_label("Month", exact=True)
    second = month.locator("option").nth(2)
    name = second.inner_text()

    month.select_option(second.get_attribute("value"))

    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_member_makes_a_schedule_and_sends_it(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/reports/")
    page.get_by_role("link", name="Schedules").click()
    page.get_by_role("link", name="New schedule").first.click()
    page.get_by_label("Day of the month").fill("7")
    page.get_by_role("button", name="Create schedule").click()
    expect(page.get_by_text("Schedule created.")).to_be_visible()
    if os.environ.get("KEEP_SHOTS"):
        page.screenshot(path=Path(os.environ["KEEP_SHOTS"]) / "schedules.png", full_page=True)

    page.get_by_role("button", name="Send Whole account").click()

    expect(page.get_by_text("The report is being sent.")).to_be_visible()
    page.get_by_role("button", name="Delete Whole account").click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    expect(page.get_by_text("Schedule deleted.")).to_be_visible()


@pytest.mark.parametrize(
    ("width", "theme"), [(1280, "light"), (390, "dark"), *also_long((1280, "dark"), (390, "light"))]
)
def test_axe_finds_nothing_on_pages_of_reports(new_page: NewPage, width: int, theme: str) -> None:
    page = new_page("member", width=width, theme=theme)
    for url in ("reports/", "reports/schedules/", "reports/schedules/new/"):
        page.goto(f"/a/acme/{url}")
        assert violations(page) == []
