"""*Try with sample data*: a folder of the made-up company's bill, and a connection that reads it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import LazySettings

from accounts.scoping import account_scope
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection, CostSync
from finops.connections.services import config_of, run_sync
from finops.costs.models import CostSource
from finops.demo.generate import month_rows
from finops.demo.samples import MONTHS, VENDOR, write_sample_bill
from finops.lib import clock
from finops.lib.periods import add_months, month_start
from tests.cast import Cast, signed_in
from tests.factories.imports import total
from tests.finops.demo.test_load_demo import TODAY
from tests.pages import text_of

SAMPLE = "/a/acme/connections/sample/"


@pytest.fixture(autouse=True)
def own_var(settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    settings.LAKE_URL = str(tmp_path / "lake")


def generated_cost(months: int) -> Decimal:
    """What the generator makes of the newest months, up to yesterday."""
    newest = month_start(TODAY.date())
    tables = [month_rows(VENDOR, add_months(newest, -back), TODAY.date()) for back in range(months)]
    yesterday = clock.today().isoformat()
    return sum(
        (
            row["BilledCost"]
            for table in tables
            for row in table.select(["BilledCost", "ChargePeriodStart"]).to_pylist()
            if str(row["ChargePeriodStart"])[:10] < yesterday
        ),
        Decimal(0),
    )


@pytest.mark.slow
def test_sample_data_is_a_source_that_a_sync_fills(cast: Cast) -> None:
    with clock.frozen(TODAY):
        answer = signed_in(cast.member).post(SAMPLE)
        with account_scope(cast.account):
            (sync,) = CostSync.objects.all()
            run_sync(sync.pk)
            sync.refresh_from_db()
            cost = total(cast.account)
        expected = generated_cost(MONTHS)

    assert answer.headers["Location"] == f"/a/acme/connections/syncs/{sync.pk}/"
    assert (sync.status, sync.error, sync.months_imported) == ("done", "", MONTHS)
    assert cost == expected


@pytest.mark.slow
def test_sample_data_comes_once_to_an_account(cast: Cast) -> None:
    client = signed_in(cast.member)

    with clock.frozen(TODAY):
        client.post(SAMPLE)
        again = client.post(SAMPLE, follow=True)

    assert "A cost source with this name already exists." in text_of(again)
    with account_scope(cast.account):
        assert CostSource.objects.count() == 1


def test_sample_data_passes_the_test_of_its_connection(cast: Cast) -> None:
    with clock.frozen(TODAY):
        signed_in(cast.member).post(SAMPLE)
    with account_scope(cast.account):
        connection = CostConnection.objects.select_related("account").get()
        findings = connector_of("folder").check(config_of(connection))

    assert [each.fix for each in findings if not each.is_ok] == []


def test_files_that_are_the_same_are_left_alone(tmp_path: Path) -> None:
    def modification_times() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}

    with clock.frozen(TODAY):
        write_sample_bill(tmp_path)
        first = modification_times()
        write_sample_bill(tmp_path)

    assert first
    assert modification_times() == first
