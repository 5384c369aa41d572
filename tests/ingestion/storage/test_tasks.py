"""Tasks that beat sends: due inboxes become tasks, and every account is compacted at night."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from accounts.scoping import account_scope
from finops.celery import app
from finops.lake.tasks import merge_usage
from finops.lake.usage import flush_scheduler
from finops.lake.usage.flush import count_pending, flush_usage
from finops.lake.usage.usage_removal import rows_to_scan
from finops.lib import clock
from ingestion import tasks
from ingestion.models import UsageRetention
from ingestion.services import retention
from tests.cast import Cast
from tests.finops.lake.events import NOON, Event, push, quantity_by
from tests.finops.lake.usage.test_flush import live

pytestmark = pytest.mark.django_db
OLD = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.fixture
def task_queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int], float]]:
    """The tasks that were asked for, instead of a broker."""
    calls: list[tuple[str, list[int], float]] = []

    def send(task: Any, args: list[int], *, expires: float) -> None:
        calls.append((task.name, args, expires))

    monkeypatch.setattr(app.Task, "apply_async", send)
    return calls


def test_beat_asks_every_three_seconds_and_each_night() -> None:
    schedule = settings.CELERY_BEAT_SCHEDULE
    assert schedule["ingestion.flush_due_usage"]["schedule"] == 3
    assert schedule["ingestion.tidy_all_usage"]["schedule"] == 86_400


def test_due_inboxes_become_a_task_each_by_account(
    cast: Cast, task_queue: list[tuple[str, list[int], float]]
) -> None:
    push(cast.account, [Event()])
    with clock.frozen(datetime.now(UTC) + timedelta(minutes=16)):
        push(cast.other_account, [Event()])
        tasks.flush_due_usage()
        assert task_queue == [("ingestion.flush_usage", [cast.account.pk], 15)]
        for _ in range(2):
            tasks.flush_usage(cast.account.pk)
        assert (count_pending(cast.account), count_pending(cast.other_account)) == (0, 1)
        task_queue.clear()
        tasks.flush_due_usage()
        assert task_queue == []


def test_many_flushed_segments_are_compacted_by_a_separate_task(
    cast: Cast, task_queue: list[tuple[str, list[int], float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flush_scheduler, "DUE_EVENTS", 1)
    for _ in range(8):
        assert task_queue == []
        push(cast.account, [Event()])
        tasks.flush_usage(cast.account.pk)
    assert task_queue == [("lake.merge_usage", [cast.account.pk], 600)]
    assert [segment.rows for segment in live(cast.account)] == [1] * 8
    merge_usage(cast.account.pk)
    assert [segment.rows for segment in live(cast.account)] == [8]


def test_nightly_each_account_with_segments_becomes_a_task_for_each_month_to_merge_that_leaves_one(
    cast: Cast, task_queue: list[tuple[str, list[int], float]]
) -> None:
    for _ in range(3):
        push(cast.account, [Event(), Event(event_time=NOON + timedelta(days=40))])
        flush_usage(cast.account)
    push(cast.other_account, [Event()])
    tasks.tidy_all_usage()
    assert task_queue == [("ingestion.tidy_usage", [cast.account.pk], 86_400)] * 2
    for _ in range(2):
        tasks.tidy_account(cast.account.pk)
    assert [segment.rows for segment in live(cast.account)] == [3, 3]
    task_queue.clear()
    tasks.tidy_all_usage()
    assert task_queue == [("ingestion.tidy_usage", [cast.account.pk], 86_400)]  # of its retention


@pytest.mark.parametrize(
    ("months", "left"),
    [
        (None, [date(2025, 11, 15), date(2025, 12, 15), date(2026, 1, 15)]),
        (2, [date(2025, 11, 15), date(2025, 12, 15), date(2026, 1, 15)]),
        (1, [date(2025, 12, 15), date(2026, 1, 15)]),
    ],
    ids=["forever", "two", "one"],
)
def test_usage_older_than_the_account_keeps_goes_month_by_month(
    cast: Cast, months: int | None, left: list[date]
) -> None:
    for account in (cast.account, cast.other_account):
        push(account, [Event(event_time=OLD - timedelta(days=days)) for days in (0, 31, 61)])
        flush_usage(account)
    with account_scope(cast.account):
        UsageRetention.objects.create(account=cast.account, months=months)
    for day in (OLD, OLD.replace(day=31)):
        with clock.frozen(day):
            tasks.tidy_account(cast.account.pk)
            tasks.tidy_account(cast.other_account.pk)
            assert sorted(quantity_by(cast.account, "day")) == left
    assert len(quantity_by(cast.other_account, "day")) == 3
    row_count = rows_to_scan(account=cast.account, source_id=1, first_day=date.min, last_day=date.max)
    assert row_count == len(left)


def test_an_account_that_never_said_how_long_keeps_everything(cast: Cast) -> None:
    push(cast.account, [Event(event_time=datetime(1, 1, 1, tzinfo=UTC))])
    flush_usage(cast.account)
    assert retention.drop_old_usage(account=cast.account) == 0
    assert quantity_by(cast.account, "day") == {date(1, 1, 1): 1}
