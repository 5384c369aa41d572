"""Three months of the demo, and at length its year: what they bring, what a later load adds, what a unit costs in them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.models import CostSync
from finops.costs.models import ClosedMonth, ContractCommitment, CostImport, CostSource, CostView
from finops.costs.queries.invoices import every_invoice
from finops.demo.company import SOURCES
from finops.demo.datasets import NOT_IN_LINES
from finops.demo.deliveries import FAILING_SOURCE
from finops.demo.generate import MONTHS
from finops.demo.loader import SAMPLE_NAME
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lib.periods import add_months
from tests.factories.module_scope import module_account
from tests.finops.demo.test_load_demo import TODAY, URL, load, own_var
from tests.finops.demo.unit_costs import check_unit_costs

pytestmark = pytest.mark.slow

__all__ = ["own_var"]

SOME_MONTHS = 3
"""A month that was closed and one under way are among them, and a late invoice."""


@pytest.mark.long
@pytest.mark.django_db
def test_a_first_load_gives_a_year() -> None:
    """Before the tests that share their months."""
    check_first_load(MONTHS, load(months=MONTHS))


@pytest.fixture(scope="module")
def demo_months(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, str]]:
    """The months, loaded once: their `var/`, and what the command said."""
    var = tmp_path_factory.mktemp("demo")
    with module_account(django_db_blocker, var, TODAY), override_settings(PUBLIC_URL=URL):
        yield var, load(months=SOME_MONTHS)


@pytest.fixture
def var(demo_months: tuple[Path, str], settings: LazySettings, db: None) -> Path:
    """The same files: its sources name them. What a test writes there stays, without a row."""
    settings.VAR_DIR, settings.LAKE_URL = demo_months[0], str(demo_months[0] / "lake")
    return demo_months[0]


def test_a_first_load_gives_every_vendor_and_the_real_sample(
    demo_months: tuple[Path, str], var: Path
) -> None:
    check_first_load(SOME_MONTHS, demo_months[1])


def check_first_load(months: int, output: str) -> None:
    with account_scope(Account.objects.get(slug="lumenly")):
        segments = LakeSegment.objects.filter(kind=Kind.COST, retired_at=None)
        names = set(CostSource.objects.values_list("name", flat=True))
        assert names == {*(source.name for source in SOURCES.values()), SAMPLE_NAME, FAILING_SOURCE}
        syncs = {
            sync.connection.cost_source.name: sync
            for sync in CostSync.objects.select_related("connection__source").filter(
                connection__source__isnull=False
            )
        }
        newest = max(segment.last_day for segment in segments)
        assert newest == date(2026, 11, 19), "data is there up to yesterday"
        assert {segment.month for segment in segments} >= {*months_of_demo(months), date(2024, 9, 1)}
        lines = sum(segment.rows for segment in segments)
        reports = [job.report for job in CostImport.objects.all()]
        view = CostView.objects.get()
        years = 2 if months > 12 else 1
        assert ContractCommitment.objects.count() >= years * 6, "every commitment, in each of its years"
        invoices, _months = every_invoice(Account.objects.get(slug="lumenly"))
        closed = ClosedMonth.objects.get()
        restated = {
            row.source_name: row.billed_now - row.billed_cost
            for row in closed.sums.all()
            if row.billed_now != row.billed_cost
        }
    assert {name: sync.status for name, sync in syncs.items()} == {
        "AWS": "done",
        "Microsoft Azure": "done",
        "Google Cloud": "done",
        FAILING_SOURCE: "failed",
    }
    assert {sync.months_imported for name, sync in syncs.items() if name != FAILING_SOURCE} == {months}
    assert "BilledCost" in syncs[FAILING_SOURCE].error
    assert 11_500 * months < lines < 38_500 * months
    assert sum(bool(report.get("findings")) for report in reports) == 1, "only the real file is untidy"
    statuses = {(row.invoice, row.status): row.difference for row in invoices.invoices}
    assert statuses["AWS-202610", "differs"] == pytest.approx(NOT_IN_LINES, abs=Decimal("0.01"))
    assert {row.status for row in invoices.invoices} == {
        "matches",
        "rounding",
        "differs",
        "no_invoice_detail",
    }
    assert ("ANTHROPIC-202609", "matches") in statuses, "the lines have what came late"
    assert closed.month == date(2026, 9, 1)
    assert list(restated) == ["Anthropic"]
    assert restated["Anthropic"] > 900
    assert view.basis == "billed"
    assert view.product_key == "tag:service"
    assert "Demo ready in" in output


def months_of_demo(count: int) -> set[date]:
    return {add_months(TODAY.date(), -back).replace(day=1) for back in range(count)}


def test_unit_costs_of_the_demo_are_the_sums_of_its_files_divided(var: Path) -> None:
    check_unit_costs(var)


def test_on_a_later_day_only_the_months_since_are_imported(var: Path) -> None:
    with account_scope(Account.objects.get(slug="lumenly")):
        before = CostImport.objects.count()
    load(months=2, moment=TODAY + timedelta(days=13))
    with account_scope(Account.objects.get(slug="lumenly")):
        new = CostImport.objects.all()[: CostImport.objects.count() - before]
        assert {month for job in new for month in job.months} == {"2026-11", "2026-12"}
        live = LakeSegment.objects.filter(
            kind=Kind.COST, retired_at=None, source_id=CostSource.objects.get(name="AWS").pk
        )
        assert {segment.month for segment in live} == {*months_of_demo(SOME_MONTHS), date(2026, 12, 1)}
        assert max(segment.last_day for segment in live) == date(2026, 12, 2)
