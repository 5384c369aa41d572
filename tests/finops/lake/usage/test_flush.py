"""The flush: what waited is in segments afterwards, exactly once and as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from accounts.models import Account
from finops.lake import queries, schema
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.storage import storage
from finops.lake.usage import flush, usage_table
from finops.lake.usage.flush import flush_usage
from tests.cast import Cast
from tests.finops.lake.events import ALWAYS, NOON, Event, push, quantity_by, run_query, sum_by_key

pytestmark = pytest.mark.django_db
COLUMNS = ("event_time", "source", "customer_id", "metric", "unit", "quantity", "batch", "position")


def live(account: Account) -> list[LakeSegment]:
    return list(queries.live_segments(account, Kind.USAGE, *ALWAYS))


def rows(account: Account, *keys: str) -> list[dict[str, Any]]:
    columns = [*COLUMNS, "received_at", "day", *map(schema.dimension_column, keys)]
    table = run_query(account, lambda usage: usage.select(*columns), *keys)
    return sorted(table, key=lambda row: (row["batch"], row["position"]))


def usage_files(account: Account) -> Iterator[str]:
    return (file.path for file in storage().files() if file.path.startswith(f"{account.pk}/usage/"))


def varied_events() -> list[Event]:
    return [
        Event(
            Decimal(n) / 2**6,
            NOON + timedelta(hours=n * 11, microseconds=n),
            f"c-{n % 5}",
            f"m-{n % 3}",
            [None, "", "u"][n % 3],
        )
        for n in range(200)
    ]


def test_every_column_of_every_event_is_the_same_after_the_flush(cast: Cast) -> None:
    push(cast.account, varied_events(), source_id=1)
    push(cast.account, [Event(dimensions={"plan": "pro", "Plan": ""}), *varied_events()[:50]], source_id=2)
    before = rows(cast.account, "plan", "Plan")
    flushed = flush_usage(cast.account)
    assert rows(cast.account, "plan", "Plan") == before
    assert (flushed.events, flush.count_pending(cast.account)) == (251, 0)
    assert len(before) == 251


def test_any_text_is_the_same_after_the_flush(cast: Cast) -> None:
    texts = [
        "'",
        "''",
        '"',
        '""',
        "a,b",
        "a\nb",
        "a\r\nb",
        "\\",
        "\\'",
        "null",
        "NULL",
        " x ",
        "\t",
        "é",
        "\U0001f600",
        "'\n,\"",
    ]
    push(cast.account, [Event(customer_id=t, metric=t, unit=t, dimensions={t: t, "k": t}) for t in texts])
    before = rows(cast.account, "k", *texts)
    flush_usage(cast.account)
    assert rows(cast.account, "k", *texts) == before
    assert [row["customer_id"] for row in before] == texts


def test_an_empty_inbox_makes_no_segment(cast: Cast) -> None:
    push(cast.other_account, [Event()])
    assert flush_usage(cast.account) == flush.FlushResult(0, 0, frozenset())
    assert flush.count_pending(cast.other_account) == 1
    assert quantity_by(cast.other_account, "metric") == {"calls": 1}


def test_a_segment_is_of_one_source_and_month_whatever_came_together(cast: Cast) -> None:
    """A year of old timestamps in one push, late and out of order, and the first and the last day there are."""
    times = [datetime(2025, 1 + n % 12, 1 + n * 7 % 28, tzinfo=UTC) for n in range(120)]
    times += [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    every = [Event(Decimal(n), time) for n, time in enumerate(times)]
    push(cast.account, every, source_id=1)
    push(cast.account, every[:24], source_id=2)
    assert flush_usage(cast.account).segments == 26
    for segment in live(cast.account):
        assert segment.month == segment.first_day.replace(day=1) == segment.last_day.replace(day=1)
    assert {(each.source_id, each.month) for each in live(cast.account)} == {
        *((1, date(2025, month, 1)) for month in range(1, 13)),
        *((2, date(2025, month, 1)) for month in range(1, 13)),
        (1, date(1, 1, 1)),
        (1, date(9999, 12, 1)),
    }
    twice = [*every, *every[:24]]
    assert quantity_by(cast.account, "day") == sum_by_key((event.day, event.quantity) for event in twice)


def test_a_late_event_joins_its_own_month(cast: Cast) -> None:
    push(cast.account, [Event(Decimal(1), NOON), Event(Decimal(2), NOON + timedelta(days=40))])
    flush_usage(cast.account)
    push(cast.account, [Event(Decimal(4), NOON + timedelta(hours=1))])
    flush_usage(cast.account)
    assert [(each.month.month, each.rows) for each in live(cast.account)] == [(1, 1), (1, 1), (2, 1)]
    assert quantity_by(cast.account, "day", days=(NOON.date(), NOON.date())) == {NOON.date(): 5}


def test_a_segment_is_sorted_by_metric_day_and_customer(cast: Cast) -> None:
    push(cast.account, varied_events()[:60])
    flush_usage(cast.account)
    table = run_query(cast.account, lambda usage: usage.select(*usage_table.SORTED_BY))
    order = [tuple(row[column] for column in usage_table.SORTED_BY) for row in table]
    assert order == sorted(order)


def test_a_long_inbox_moves_in_chunks_of_bounded_size(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush, "CHUNK_EVENTS", 40)
    for first in range(0, 100, 20):
        push(cast.account, [Event(Decimal(first + n)) for n in range(20)])
    assert flush_usage(cast.account).segments == 3
    monkeypatch.setattr(flush, "CHUNK_BYTES", 1_000)
    for n in range(10):
        push(cast.account, [Event(Decimal(n), dimensions={"k": "x" * 250})])
    assert flush_usage(cast.account).segments == 3
    assert quantity_by(cast.account, "metric") == {"calls": 4_950 + 45}
    assert flush.count_pending(cast.account) == 0


def test_an_event_larger_than_a_chunk_moves_all_the_same(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush, "CHUNK_BYTES", 1_000)
    push(cast.account, [Event(dimensions={"k": "x" * 5_000}), Event(dimensions={"k": "y" * 5_000})])
    assert flush_usage(cast.account).events == 2


def test_keys_that_differ_by_case_alone_stay_separate(cast: Cast) -> None:
    keys = ["env", "Env", "ENV", "straße", "STRASSE", "k", "K", ""]
    push(cast.account, [Event(Decimal(2**n), dimensions={key: key}) for n, key in enumerate(keys)])
    flush_usage(cast.account)
    for number, key in enumerate(keys):
        assert quantity_by(cast.account, schema.dimension_column(key), key)[key] == 2**number
    assert queries.dimension_keys(cast.account) == sorted(keys)


def test_more_keys_than_a_segment_holds_make_several(cast: Cast) -> None:
    keys = [f"Key {number}" for number in range(schema.MAX_KEYS * 2 + 500)]
    push(cast.account, [Event(Decimal(n), dimensions={key: f"v{n}"}) for n, key in enumerate(keys)])
    push(cast.account, [Event(Decimal(7)), Event(Decimal(8), dimensions=dict.fromkeys(keys[:1_000], "all"))])
    before = quantity_by(cast.account, "quantity")
    flush_usage(cast.account)
    assert quantity_by(cast.account, "quantity") == before
    assert queries.dimension_keys(cast.account) == sorted(keys)
    assert (
        quantity_by(cast.account, schema.dimension_column(keys[-1]), keys[-1])[f"v{len(keys) - 1}"]
        == len(keys) - 1
    )
    assert 3 <= len(live(cast.account)) <= 5


def test_an_event_of_too_many_keys_keeps_the_most_that_a_segment_holds(cast: Cast) -> None:
    keys = [f"{number:05}" for number in range(schema.MAX_KEYS + 1)]
    push(cast.account, [Event(Decimal(3), dimensions=dict.fromkeys(keys, "v")), Event(Decimal(4))])
    flush_usage(cast.account)
    assert quantity_by(cast.account, "metric") == {"calls": 7}
    assert queries.dimension_keys(cast.account) == keys[:-1]


def test_keys_without_end_lose_the_least_used_and_no_event(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MAX_KEYS", 10)
    monkeypatch.setattr(usage_table, "MAX_SEGMENTS", 3)
    push(cast.account, [Event(Decimal(1), dimensions={f"k{n}": "v", "everywhere": "v"}) for n in range(100)])
    flush_usage(cast.account)
    assert len(live(cast.account)) == 3
    assert quantity_by(cast.account, "dim:everywhere", "everywhere") == {"v": 100}
    assert len(queries.dimension_keys(cast.account)) == 9 * 3 + 1


def test_events_that_the_storage_refuses_keep_waiting_and_leave_no_file(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full after the first of two months."""
    push(cast.account, [Event(Decimal(1)), Event(Decimal(2), NOON + timedelta(days=40))])
    store, puts = type(storage()), []
    upload = store.put

    def fail_on_second_put(self: Any, *asked: Any) -> None:
        puts.append(asked)
        if len(puts) == 2:
            raise OSError(28, "No space left on device")
        upload(self, *asked)

    with monkeypatch.context() as patch:
        patch.setattr(store, "put", fail_on_second_put)
        with pytest.raises(OSError, match="No space"):
            flush_usage(cast.account)
    assert list(usage_files(cast.account)) == []
    assert (flush.count_pending(cast.account), live(cast.account)) == (2, [])
    assert quantity_by(cast.account, "metric") == {"calls": 3}
    assert flush_usage(cast.account).events == 2
    assert quantity_by(cast.account, "metric") == {"calls": 3}


def test_an_inbox_row_that_another_account_has_is_left_alone(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        push(account, [Event(Decimal(account.pk))])
    flush_usage(cast.account)
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT account_id FROM lake_usageinbox")
        assert cursor.fetchall() == [(cast.other_account.pk,)]
