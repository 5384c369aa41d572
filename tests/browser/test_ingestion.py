"""Usage sources as members use them: received events, a voided batch, an uploaded file, a new metric."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.long import also_long
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

ROWS = "tests.browser.usage_rows"
LINES = "\n".join(
    f"cust-{number % 300},backfilled,{number or 'none'},2026-01-{number % 28 + 1:02}"
    for number in range(1_200)
)


def past_events(folder: Path, name: str) -> Path:
    path = folder / f"{name}.csv"
    path.write_text(f"customer_id,metric,quantity,timestamp\n{LINES}\n{name},backfilled,1,2026-01-01\n")
    return path


def test_a_file_is_uploaded_its_report_read_and_what_it_brought_voided(
    new_page: NewPage, console: LiveServer, tmp_path: Path
) -> None:
    source = console.run(f"{ROWS}:busy_source", "Backfilled backend")
    page = new_page("member")
    page.goto(f"/a/acme/connections/usage/{source}/")

    page.get_by_label("Drop a CSV file of past events, or choose one").set_input_files(
        past_events(tmp_path, "one")
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("progressbar", name="Progress of the upload")).to_be_visible()
    console.run(f"{ROWS}:run_uploads")

    expect(page.get_by_text("1,200 events stored")).to_be_visible()
    expect(page.get_by_role("row", name="quantity must be a number")).to_be_visible()
    page.reload()
    expect(page.get_by_role("region", name="Rejected lines", exact=True).get_by_role("row")).to_have_count(2)

    page.get_by_role("button", name="Void upload").click()
    page.get_by_role("dialog").get_by_role("button", name="Void").click()
    expect(page.get_by_text("Batch voided. Its events are no longer counted or metered.")).to_be_visible()
    expect(page.get_by_role("row", name="one.csv")).to_contain_text("Voided")


def test_a_file_that_cannot_work_is_refused_where_it_was_chosen(
    new_page: NewPage, console: LiveServer, tmp_path: Path
) -> None:
    source = console.run(f"{ROWS}:busy_source", "Refusing backend")
    page = new_page("member")
    page.goto(f"/a/acme/connections/usage/{source}/")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("customer,metric,quantity,timestamp\n")

    page.get_by_label("Drop a CSV file of past events, or choose one").set_input_files(wrong)
    page.get_by_role("button", name="Upload").click()

    expect(page.get_by_role("alert").filter(has_text="Did you mean customer_id?")).to_be_visible()


def test_a_batch_is_voided_from_the_keyboard_and_an_unsure_one_is_kept(
    new_page: NewPage, console: LiveServer
) -> None:
    source = console.run(f"{ROWS}:busy_source", "Mistaken backend")
    page = new_page("member")
    page.goto(f"/a/acme/connections/usage/{source}/")
    first = page.get_by_role("region", name="Batches").get_by_role("button", name="Void batch").first

    first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Batches").get_by_text("Voided", exact=True)).to_have_count(0)
    first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Void").press("Enter")

    expect(page.get_by_text("Batch voided. Its events are no longer counted or metered.")).to_be_visible()
    expect(page.get_by_role("region", name="Batches").get_by_text("Voided", exact=True)).to_have_count(1)


def test_a_metric_is_set_and_a_retention_is_asked_about_twice(new_page: NewPage) -> None:
    page = new_page("owner")
    page.goto("/a/acme/settings/metrics/")
    page.get_by_role("link", name="requests").first.click()
    page.get_by_label("Highest value").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("set to “Highest value”")).to_be_visible()

    # Back, for the tests that come after.
    page.get_by_role("link", name="requests").first.click()
    page.get_by_label("Sum", exact=True).check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("set to “Sum”")).to_be_visible()

    page.get_by_role("link", name="Usage & billing").click()
    page.get_by_label("Keep raw usage for").fill("1")
    page.get_by_role("button", name="Save").click()
    expect(
        page.get_by_text("Raw usage is kept for 1 whole month").or_(
            page.get_by_role("heading", name="will be permanently deleted")
        )
    ).to_be_visible()


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), *also_long((390, "light"), (1280, "light"))])
def test_the_pages_fit_and_are_named(
    new_page: NewPage, console: LiveServer, tmp_path: Path, width: int, theme: str
) -> None:
    source = console.run(f"{ROWS}:busy_source", f"A busy source of a rather long name, {width} {theme}")
    page = new_page("owner", width=width, theme=theme)
    page.goto(f"/a/acme/connections/usage/{source}/")
    page.get_by_label("Drop a CSV file of past events, or choose one").set_input_files(
        past_events(tmp_path, f"{width}-{theme}")
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("progressbar", name="Progress of the upload")).to_be_visible()
    faults_by_path = {"running": [*page.evaluate(FAULTS), overflow(page)]}
    console.run(f"{ROWS}:run_uploads")
    expect(page.get_by_text("1,200 events stored")).to_be_visible()
    paths = [
        page.url,
        *(
            f"/a/acme/connections/usage/{source}/{path}"
            for path in ("", "?chart=day", "batches/", "rejected/")
        ),
    ]
    paths += [
        f"/a/acme/{path}"
        for path in ("connections/usage/api/", "settings/usage/", "settings/metrics/", "settings/metrics/1/")
    ]
    for path in paths:
        page.goto(path)
        expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
        faults_by_path[path] = [*page.evaluate(FAULTS), overflow(page)]

    assert {path: faults for path, faults in faults_by_path.items() if faults != [0]} == {}
