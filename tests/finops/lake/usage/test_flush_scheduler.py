"""When a flush is due, and what happens when it fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from accounts.models import Account
from finops.lake.models import LakeSegment, UsageFlushTrouble
from finops.lake.schema import Kind
from finops.lake.storage import locks, segments
from finops.lake.usage import flush, flush_scheduler
from finops.lake.usage.flush_scheduler import (
    StuckFlush,
    due_accounts,
    flush_if_due,
    is_any_flush_stuck,
    stuck,
)
from finops.lake.usage.usage_removal import drop_usage_before, void_batch
from finops.lib import clock
from tests.cast import Cast
from tests.finops.lake.events import Event, push, quantity_by
from tests.servers import database_url

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@contextmanager
def later(**delta: float) -> Iterator[datetime]:
    with clock.frozen(NOW + timedelta(**delta)):
        yield clock.now()


@pytest.fixture
def broken_lake(settings: Settings, tmp_path: Path) -> Path:
    """A lake whose directory cannot be made: a file stands in its place, until a test removes it."""
    in_the_way = tmp_path / "secret-lake"
    in_the_way.write_text("")
    settings.LAKE_URL = str(in_the_way)
    return in_the_way


@pytest.mark.django_db
def test_an_account_is_due_when_an_event_has_waited_a_quarter_of_an_hour(cast: Cast) -> None:
    with later():
        push(cast.account, [Event()])
    with later(minutes=14.9):
        push(cast.other_account, [Event()])
        assert due_accounts() == []
        assert flush_if_due(cast.account) is None
        assert flush.count_pending(cast.account) == 1
    with later(minutes=15):
        assert due_accounts() == [cast.account.pk]
        assert flush_if_due(cast.other_account) is None
        flushed = flush_if_due(cast.account)
        assert flushed is not None
        assert flushed.events == 1
        assert due_accounts() == []


@pytest.mark.django_db
def test_an_account_is_due_when_many_wait_and_the_fullest_comes_first(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flush_scheduler, "DUE_EVENTS", 5)
    push(cast.account, [Event()] * 4)
    assert due_accounts() == []
    push(cast.account, [Event()])
    push(cast.other_account, [Event()] * 6)
    assert due_accounts() == [cast.other_account.pk, cast.account.pk]


@pytest.mark.django_db
def test_a_flush_that_fails_is_retried_with_growing_delays_until_it_works(
    cast: Cast, broken_lake: Path
) -> None:
    with later():
        push(cast.account, [Event()])
    assert stuck(cast.account) is not None
    tries: list[float] = []
    at = 900.0
    while len(tries) < 9:
        with later(seconds=at):
            assert flush_if_due(cast.account) is None
            trouble = UsageFlushTrouble.objects.unscoped().get()
            tries.append((trouble.retry_at - clock.now()).total_seconds())
            assert due_accounts() == []
            assert flush_if_due(cast.account) is None, "not before its time"
            assert UsageFlushTrouble.objects.unscoped().get().attempts == len(tries)
        at += tries[-1]
    assert tries == [15, 30, 60, 120, 240, 480, 600, 600, 600]
    with later(seconds=at):
        assert due_accounts() == [cast.account.pk]
        assert quantity_by(cast.account, "metric") == {"calls": 1}
        broken_lake.unlink()
        assert flush_if_due(cast.account) is not None
        assert quantity_by(cast.account, "metric") == {"calls": 1}
        assert stuck(cast.account) is None
    assert not UsageFlushTrouble.objects.unscoped().exists()


@pytest.mark.django_db
def test_health_says_since_when_and_why_without_saying_where(
    cast: Cast, broken_lake: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with later():
        push(cast.account, [Event()])
    with later(minutes=15) as first, caplog.at_level(logging.ERROR):
        assert stuck(cast.account) is None
        flush_if_due(cast.account)
        assert stuck(cast.account) == StuckFlush(first, "Not a directory")
        assert "secret-lake" in caplog.text
    with later(minutes=20):
        flush_if_due(cast.account)
        assert stuck(cast.account) == StuckFlush(first, "Not a directory")
        assert stuck(cast.other_account) is None


@pytest.mark.django_db
def test_without_any_worker_health_says_so_after_an_hour(cast: Cast) -> None:
    with later():
        push(cast.account, [Event()])
    with later(minutes=60):
        assert (stuck(cast.account), is_any_flush_stuck()) == (None, False)
    with later(minutes=61):
        assert stuck(cast.account) == StuckFlush(NOW + timedelta(minutes=1), "no worker has flushed it")
        assert is_any_flush_stuck()
        flush_if_due(cast.account)
        assert (stuck(cast.account), is_any_flush_stuck()) == (None, False)


@pytest.mark.django_db
def test_an_inbox_emptied_otherwise_is_no_problem(cast: Cast, broken_lake: Path) -> None:
    with later():
        push(cast.account, [Event()])
    with later(minutes=15):
        flush_if_due(cast.account)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM lake_usageinbox")
        assert stuck(cast.account) is None


@pytest.mark.django_db(transaction=True)
def test_a_flush_that_meets_another_leaves_the_account_to_it(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one has the lock on a connection of its own."""
    monkeypatch.setattr(flush_scheduler, "DUE_EVENTS", 1)
    push(cast.account, [Event()])
    with clock.frozen(NOW), monkeypatch.context() as patch:
        patch.setattr(flush_scheduler, "flush_usage", lambda *_, **__: 1 / 0)
        flush_if_due(cast.account)
    trouble = stuck(cast.account)
    assert trouble == StuckFlush(NOW, "ZeroDivisionError")
    with usage_locked_elsewhere(cast.account):
        flushed: Any = flush_if_due(cast.account)
        assert (flushed.events, flush.count_pending(cast.account)) == (0, 1)
        assert stuck(cast.account) == trouble, "which is not over by that"
    flushed = flush_if_due(cast.account)
    assert (flushed.events, flush.count_pending(cast.account), stuck(cast.account)) == (1, 0, None)


@contextmanager
def usage_locked_elsewhere(account: Account) -> Iterator[None]:
    """Somebody moves usage of the account; who waits for it gives up soon."""
    with psycopg.connect(database_url(), autocommit=True) as other, connection.cursor() as cursor:
        other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [locks._usage_lock_name(account)])
        cursor.execute("SET lock_timeout = '50ms'")
        try:
            yield
        finally:
            cursor.execute("RESET lock_timeout")
            other.execute("SELECT pg_advisory_unlock_all()")


@pytest.mark.django_db(transaction=True)
def test_the_end_of_a_source_or_an_account_waits_for_a_flush(cast: Cast) -> None:
    """Else a flush that began before could name a segment of it afterwards."""
    push(cast.account, [Event()])
    flush.flush_usage(cast.account)
    ends: list[Callable[[], object]] = [
        cast.account.delete,
        lambda: segments.retire_source(account=cast.account, kind=Kind.USAGE, source_id=1),
        lambda: void_batch(
            account=cast.account, source_id=1, batch=uuid4(), first_day=date.min, last_day=date.max
        ),
        lambda: drop_usage_before(account=cast.account, month=date.max.replace(day=1)),
    ]
    with usage_locked_elsewhere(cast.account):
        for end in ends:
            with pytest.raises(OperationalError, match="lock timeout"):
                end()
    assert quantity_by(cast.account, "metric") == {"calls": 1}
    cast.account.delete()
    assert not LakeSegment.objects.unscoped().exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("large", [flush.LARGE_INBOX, 10**5], ids=["kept", "shrunk"])
def test_the_inbox_returns_its_disk_space_after_every_large_flush(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(flush_scheduler, "DUE_EVENTS", 1)
    monkeypatch.setattr(flush, "VACUUM_EVENTS", 1_000)
    monkeypatch.setattr(flush, "LARGE_INBOX", large)
    empty = inbox_bytes()
    sizes = []
    for turn in range(6):
        # No two alike: they are compressed.
        push(cast.account, [Event(dimensions={"id": f"{hash((turn, n)):x}"}) for n in range(8_000)])
        flush_if_due(cast.account)
        sizes.append(inbox_bytes() - empty)
    assert sizes[-1] <= (sizes[0] * 2 if large > 10**6 else 10**5)


def inbox_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('lake_usageinbox')")
        return int(cursor.fetchone()[0])
