"""`manage.py load_demo` on a real database and lake."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
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
from finops.lib import clock

TODAY = datetime(2026, 11, 20, 9, tzinfo=UTC)
URL = "http://127.0.0.1:8123"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_var(settings: LazySettings, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    settings.LAKE_URL = str(tmp_path / "lake")
    settings.PUBLIC_URL = URL
    return tmp_path


def load(*, months: int = 1, moment: datetime = TODAY, **options: Any) -> str:
    out = io.StringIO()
    with clock.frozen(moment):
        call_command("load_demo", months=months, stdout=out, **options)
    return out.getvalue()


def handout(var: Path) -> dict[str, str]:
    content: dict[str, str] = json.loads((var / "demo.json").read_text())
    return content


def test_a_first_load_gives_a_year_with_every_vendor_and_the_real_sample(own_var: Path) -> None:
    began = time.perf_counter()
    output = load(months=MONTHS)
    seconds = time.perf_counter() - began
    with account_scope(Account.objects.get(slug="lumenly")):
        segments = LakeSegment.objects.filter(kind=Kind.COST, retired_at=None)
        names = set(CostSource.objects.values_list("name", flat=True))
        assert names == {*(source.name for source in SOURCES.values()), SAMPLE_NAME, FAILING_SOURCE}
        syncs = {
            sync.connection.source.name: sync
            for sync in CostSync.objects.select_related("connection__source")
        }
        newest = max(segment.last_day for segment in segments)
        assert newest == date(2026, 11, 19), "data is there up to yesterday"
        assert {segment.month for segment in segments} >= {date(2025, 10, 1), date(2024, 9, 1)}
        lines = sum(segment.rows for segment in segments)
        reports = [job.report for job in CostImport.objects.all()]
        view = CostView.objects.get()
        assert ContractCommitment.objects.count() >= 2 * 6, "every commitment, in two of its years"
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
    assert {sync.months_imported for name, sync in syncs.items() if name != FAILING_SOURCE} == {MONTHS}
    assert "BilledCost" in syncs[FAILING_SOURCE].error
    assert 150_000 < lines < 500_000
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
    print(f"load_demo: {lines:,} lines in {seconds:.1f} s")  # noqa: T201 measured, not asserted: machines differ


def test_on_a_later_day_only_the_months_since_are_imported() -> None:
    load(months=2)
    with account_scope(Account.objects.get(slug="lumenly")):
        before = CostImport.objects.count()
    load(months=2, moment=TODAY + timedelta(days=13))
    with account_scope(Account.objects.get(slug="lumenly")):
        new = CostImport.objects.all()[: CostImport.objects.count() - before]
        assert {month for job in new for month in job.months} == {"2026-11", "2026-12"}
        live = LakeSegment.objects.filter(
            kind=Kind.COST, retired_at=None, source_id=CostSource.objects.get(name="AWS").pk
        )
        assert sorted({segment.month for segment in live})[0] == date(2026, 10, 1)
        assert max(segment.last_day for segment in live) == date(2026, 12, 2)


def test_production_has_no_demo_data_and_says_where_to_get_it(settings: LazySettings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match=r"`make run`.* FINOPS_ENV=development manage\.py load_demo"):
        load()
    assert not User.objects.exists()


def test_no_program_installs_or_imports_the_demo() -> None:
    script = (
        "import sys, django; django.setup(); import finops.urls, finops.management.commands.up, finops.celery as c; "
        "c.app.loader.import_default_modules(); print([n for n in sys.modules if n.startswith('finops.demo.')])"
    )
    environment = {
        **os.environ,
        "FINOPS_ENV": "production",
        "SECRET_KEY": "s" * 60,
        "KEY_PEPPER": "p" * 60,
        "DJANGO_SETTINGS_MODULE": "finops.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    assert not apps.is_installed("finops.demo")


def test_an_account_that_is_not_the_demos_is_left_alone() -> None:
    somebody = User.objects.create_user("ann@example.com", "a long password here")
    create_account(name="Lumenly", slug="lumenly", owner=somebody)
    for reset in (False, True):
        with pytest.raises(CommandError, match="does not own it"):
            load(reset=reset)
    assert Account.objects.get(slug="lumenly").memberships.get().user == somebody
