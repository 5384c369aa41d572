"""Data exports as an owner sees them: the list, an export with its runs, the wizard; wide and on a phone."""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from accounts.models import Account
from accounts.scoping import account_scope
from finops.data_exports.models import DataExport, DataExportMonth, DataExportRun
from finops.lib import clock
from tests.browser.conftest import NewPage
from tests.browser.test_pages import FAULTS, overflow
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

ERROR = (
    "s3://acme-finops/finops/focus does not let the access key …MPLE write. Give it s3:PutObject on "
    "arn:aws:s3:::acme-finops/finops/*."
)


def add_export() -> int:
    """In the server's process: one that failed at last."""
    account, now = Account.objects.get(slug="acme"), clock.now()
    with account_scope(account):
        export = DataExport.objects.create(
            account=account,
            name="focus",
            destination="s3",
            config={"bucket": "acme-finops", "folder": "finops"},
            external_id="finops-1",
            failures=1,
            failing_since=now,
            last_success_at=now - timedelta(days=1),
        )
        for status, error in (("done", ""), ("failed", ERROR)):
            DataExportRun.objects.create(
                account=account,
                export=export,
                status=status,
                error=error,
                months_listed=14,
                months_unchanged=12,
                months_replaced=2,
                rows=1_234_567,
                bytes=98_765_432,
                started_at=now - timedelta(seconds=42),
                finished_at=now,
            )
        for month in range(1, 4):
            DataExportMonth.objects.create(
                account=account,
                export=export,
                month=date(2026, month, 1),
                fingerprint="0",
                rows=411_522,
                bytes=32_921_810,
            )
    return export.pk


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_of_data_exports_fit_and_have_no_faults(
    new_page: NewPage, console: LiveServer, width: int
) -> None:
    pk = console.run(f"{__name__}:add_export") if width == 1280 else None
    page = new_page("owner", width=width)
    page.goto("/a/acme/connections/exports/")
    expect(page.get_by_role("link", name="focus")).to_be_visible()
    _look(page, f"list-{width}")
    page.get_by_role("link", name="focus").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    assert pk is None or page.url.endswith(f"/connections/exports/{pk}/")
    _look(page, f"export-{width}")
    _cancel(page, width)

    page.goto("/a/acme/connections/exports/new/")
    _look(page, f"destinations-{width}")
    page.get_by_role("link", name="S3-compatible bucket").click()
    page.get_by_text("FOCUS columns", exact=True).first.click()
    expect(page.get_by_label("AvailabilityZone")).to_be_checked()
    _look(page, f"new-{width}")
    page.locator("#id_bucket").fill("acme-finops")
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("#findings")).to_contain_text("Enter the access key ID.")


def _cancel(page: Page, width: int) -> None:
    """A run that nobody does: the button asks, and the page says that it is canceled."""
    page.get_by_role("button", name="Run now").click()
    page.get_by_role("button", name="Cancel run").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Months that are written stay.")
    _look(page, f"export-cancel-{width}")
    dialog.get_by_role("button", name="Cancel run").click()
    expect(page.get_by_text("Run canceled.")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel run")).to_have_count(0)


def _look(page: object, name: str) -> None:
    assert page.evaluate(FAULTS) == []  # type: ignore[attr-defined]
    assert overflow(page) <= 0  # type: ignore[arg-type]
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)  # type: ignore[attr-defined]
