"""A bill of any columns, from its upload over the mapping of its columns to its cost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.layout import NEXT_FRAMES
from tests.browser.test_pages import FAULTS, overflow
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

BILL = (
    "Datum;Leistung;Betrag (EUR);Standort;Kostenstelle\n"
    + "".join(
        f"{day:02}.05.2026;{service};-{amount};FSN1;web\n"
        for day in range(1, 29)
        for service, amount in (("Cloud Server CX42", "1.021,50"), ("Volume", "0,44"))
    )
    + ";Summe;-28.614,32;;\n"
)


def upload_bill(page: Page, console: LiveServer, name: str) -> None:
    """A bill of unknown columns, uploaded into a new source, up to the page where it waits."""
    page.goto("/a/acme/connections/upload/")
    page.locator("#id_uploads").set_input_files(
        {"name": "rechnung.csv", "mimeType": "text/csv", "buffer": BILL.encode()}
    )
    page.get_by_label("Name of the new source").fill(name)
    page.get_by_role("button", name="Upload and import").click()
    expect(page.get_by_role("heading", name="Waiting")).to_be_visible()
    console.run("tests.browser.people:run_imports")
    expect(page.get_by_role("heading", name="Needs review Not imported yet")).to_be_visible()


@pytest.fixture
def hetzner(console: LiveServer) -> Iterator[str]:
    """The name of a source, whose cost no other test sees."""
    yield "Hetzner"
    console.run("tests.browser.people:delete_source", "Hetzner")


def test_a_bill_of_any_columns_is_mapped_by_keyboard_and_imported(
    new_page: NewPage, console: LiveServer, hetzner: str
) -> None:
    page = new_page("member")
    upload_bill(page, console, hetzner)
    page.get_by_role("link", name="Map columns").press("Enter")
    preview = page.locator("#mapping-preview")
    expect(preview).to_contain_text("1 line cannot be read")
    expect(page.get_by_label("Column of cost")).to_have_value("Betrag (EUR)")
    assert page.evaluate(FAULTS) == []

    page.get_by_label("Leave out lines without a date").press("Space")
    expect(preview).to_contain_text("28,614.32")
    expect(preview).not_to_contain_text("cannot be read")
    page.get_by_label("Value of currency").fill("")
    expect(preview).to_contain_text("Currency: Choose a column, or enter a value for all lines.")
    page.get_by_label("Value of currency").fill("EUR")
    expect(page.get_by_role("region", name="First lines")).to_contain_text("1021.5")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("button", name="Save mapping").press("Enter")

    expect(page.get_by_role("heading", name="Waiting")).to_be_visible()
    console.run("tests.browser.people:run_imports")
    expect(page.get_by_role("heading", name="Done 56 rows, May")).to_be_visible()
    page.get_by_role("link", name="Hetzner").click()
    expect(page.get_by_role("heading", name="Column mapping")).to_be_visible()


def beyond(page: Page) -> dict[int, int]:
    """The widths at which the page is wider than its window, and by how much."""
    excess = {}
    for width in (390, 768, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(NEXT_FRAMES)
        if over := overflow(page):
            excess[width] = over
    return excess


def test_the_mapping_fits(new_page: NewPage, console: LiveServer) -> None:
    page = new_page("member", width=390, theme="dark")
    upload_bill(page, console, "Bill of any width")
    page.get_by_role("link", name="Map columns").click()
    expect(page.get_by_role("region", name="First lines")).to_be_visible()
    assert beyond(page) == {}
    page.get_by_label("Column of cost").select_option("Leistung")
    expect(page.locator("#mapping-preview")).to_contain_text("57 lines cannot be read")
    assert beyond(page) == {}
    assert page.evaluate(FAULTS) == []
