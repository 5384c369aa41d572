"""The start page of the admin console says how the service does."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import UnsentMail
from accounts.scoping import account_scope
from accounts.services.suspension import suspend_account
from finops.connections.models import CostConnection
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from finops.operations.charts import RANGES, activity_charts
from finops.operations.queries import database_status, service_status
from finops.operations.tiles import Tile, tiles
from tests.cast import Cast, signed_in
from tests.finops.lake.events import NOON, Event, push
from tests.isolation.marks import fill_with_marks
from tests.isolation.rows import MAKERS


def tile(label: str) -> Tile:
    return next(each for each in tiles(service_status()) if each.label == label)


def test_an_empty_service_has_zeroes_and_no_alarm(db: None) -> None:
    status = database_status()

    assert (status.accounts, status.people, status.jobs_waiting, status.oldest_job) == (0, 0, 0, None)
    assert (status.rejected_share, status.call_error_share) == (None, None)
    assert status.database_bytes > 0
    assert [each.label for each in tiles(service_status()) if each.is_bad] == []


def test_the_status_page_counts_what_every_account_has(cast: Cast) -> None:
    fill_with_marks(cast.account)
    fill_with_marks(cast.other_account)
    status = database_status()

    assert (status.accounts, status.people) == (2, 6)
    assert status.calls_1h == 2
    assert status.pushes_1h >= 2
    assert status.rejected_1h == 2
    assert status.rejected_share == 2 / (status.events_1h + 2)
    assert status.inbox_events == 80
    assert status.lake_bytes > 0


def test_jobs_of_all_kinds_wait_in_one_queue(cast: Cast) -> None:
    for maker in ("sync_id", "import_id", "usage_upload_id"):
        MAKERS[maker](cast.account)

    status = database_status()

    assert status.jobs_waiting == 3
    assert status.oldest_job is not None
    assert not tile("Jobs waiting").is_bad
    with clock.frozen(clock.now() + timedelta(minutes=16)):
        assert tile("Jobs waiting").is_bad


def test_a_connection_that_fails_and_one_that_is_late_are_named(cast: Cast) -> None:
    MAKERS["sync_id"](cast.account)
    MAKERS["sync_id"](cast.account)
    with account_scope(cast.account):
        first, second = CostConnection.objects.all()
        CostConnection.objects.filter(pk=first.pk).update(failures=3, failing_since=clock.now())
        late = clock.now() - timedelta(hours=2)
        CostConnection.objects.filter(pk=second.pk).update(next_sync_at=late)

    shown = tile("Syncs failing")

    assert (shown.figure, shown.notes, shown.is_bad) == ("1", ["of 2 connections", "1 late"], True)


def test_waiting_work_of_a_suspended_account_is_no_warning(cast: Cast) -> None:
    for maker in ("sync_id", "import_id", "usage_upload_id"):
        MAKERS[maker](cast.account)
    with account_scope(cast.account):
        late = clock.now() - timedelta(hours=2)
        CostConnection.objects.update(next_sync_at=late, failures=3, failing_since=late)
    suspend_account(account=cast.account, actor=cast.actor)

    with clock.frozen(clock.now() + timedelta(hours=3)):
        alarms = [each.label for each in tiles(service_status()) if each.is_bad]

    assert alarms == []
    assert tile("Jobs waiting").figure == "0"


def test_small_files_that_wait_for_a_compaction_are_counted(cast: Cast) -> None:
    for number in range(8):
        assert tile("Compactions due").figure == "0"
        event = Event(Decimal(number), NOON + timedelta(minutes=number), "c-1", "m-1")
        push(cast.account, [event], source_id=1)
        flush_usage(cast.account)
    due = tile("Compactions due")

    assert (due.figure, due.notes, due.is_bad) == ("1", ["of 8 small files"], False)
    database = dataclasses.replace(database_status(), compaction_files=1, call_incidents_1h=1)
    notes = [
        note
        for each in tiles(dataclasses.replace(service_status(), database=database))
        for note in each.notes
    ]
    assert {"of 1 small file", "1 server error"} <= set(notes)


def test_an_email_that_was_not_sent_is_an_alarm(db: None) -> None:
    UnsentMail.objects.create(sealed="x", next_attempt_at=clock.now())

    assert tile("Emails not sent").is_bad


def test_the_page_has_components_versions_and_pending_migrations(cast: Cast, operator: Client) -> None:
    page = operator.get("/admin/").content.decode()

    for text in ("Database", "Migrations", "Worker", "Pending migrations", "Django", "PostgreSQL", "DuckDB"):
        assert text in page


def test_the_start_page_makes_few_queries(
    cast: Cast, operator: Client, django_assert_max_num_queries: Any
) -> None:
    operator.get("/admin/")

    with django_assert_max_num_queries(10):
        operator.get("/admin/")


@pytest.mark.parametrize(("name", "buckets"), [("24h", 24), ("30d", 30)])
def test_charts_count_calls_events_and_deliveries(cast: Cast, name: str, buckets: int) -> None:
    fill_with_marks(cast.account)
    MAKERS["delivery_id"](cast.account)

    charts = {title: table for _name, title, table in activity_charts(RANGES[name])}

    assert {title: table.whole for title, table in charts.items()} == {
        "MCP calls": 1,
        "Pushed events": 1,
        "Alert deliveries": 1,
    }
    assert [len(table.labels) for table in charts.values()] == [buckets] * 3
    assert charts["MCP calls"].totals[-1] == 1


def test_the_page_fetches_its_charts_for_the_range_of_its_address(cast: Cast, operator: Client) -> None:
    assert 'hx-get="/admin/charts/?range=30d"' in operator.get("/admin/?range=30d").content.decode()
    assert 'hx-get="/admin/charts/?range=24h"' in operator.get("/admin/?range=x").content.decode()
    assert "None in the last 30 days" in operator.get("/admin/charts/?range=30d").content.decode()
    assert signed_in(cast.owner).get("/admin/charts/").status_code == 404
