"""The merge: fewer files, the same events, and a void that leaves nothing of a batch."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from finops.lake import queries, schema
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segment_rewriter, segments
from finops.lake.storage.garbage_collection import sweep
from finops.lake.storage.storage import storage
from finops.lake.usage import compaction, usage_table
from finops.lake.usage.compaction import CompactionResult, merge_usage, size_class, tidy_usage
from finops.lake.usage.flush import flush_usage
from finops.lake.usage.usage_removal import drop_usage_before, rows_to_scan, void_batch
from finops.lib import clock, time_limit
from tests.cast import Cast
from tests.finops.lake.events import ALWAYS, NOON, Event, push, quantity_by, run_query
from tests.finops.lake.usage.test_flush import live, rows

pytestmark = pytest.mark.django_db


def flush(cast: Cast, *events: Event, source_id: int = 1) -> uuid.UUID:
    batch = push(cast.account, events, source_id=source_id)
    flush_usage(cast.account)
    return batch


def counts(cast: Cast) -> list[int]:
    return [segment.rows for segment in live(cast.account)]


def some_events(number: int, count: int = 1) -> list[Event]:
    return [
        Event(Decimal(2**number), NOON + timedelta(minutes=number * 97 + n), f"c-{n % 3}", f"m-{number % 2}")
        for n in range(count)
    ]


@pytest.mark.parametrize(("rows", "expected"), [(1, 0), (7, 0), (8, 1), (63, 1), (64, 2), (8**7, 7)])
def test_size_classes_are_powers_of_eight(rows: int, expected: int) -> None:
    assert size_class(rows) == expected


def test_eight_segments_of_a_size_become_one_with_the_same_events_in_order(cast: Cast) -> None:
    for number in range(7):
        flush(cast, *some_events(number))
    assert merge_usage(cast.account) == CompactionResult(0, 0)
    flush(cast, *some_events(7))
    before = rows(cast.account)
    assert merge_usage(cast.account) == CompactionResult(1, 8)
    assert counts(cast) == [8]
    assert rows(cast.account) == before
    table = run_query(cast.account, lambda usage: usage.select(*usage_table.SORTED_BY))
    order = [tuple(row[column] for column in usage_table.SORTED_BY) for row in table]
    assert order == sorted(order)
    assert merge_usage(cast.account) == CompactionResult(0, 0)


def test_segments_of_another_size_source_or_month_stay(cast: Cast) -> None:
    for number in range(7):
        flush(cast, *some_events(number))
    flush(cast, *some_events(0, 8))
    flush(cast, *some_events(0), source_id=2)
    flush(cast, Event(event_time=NOON + timedelta(days=40)))
    assert merge_usage(cast.account) == CompactionResult(0, 0)
    assert sorted(counts(cast)) == [1] * 9 + [8]


def test_merging_continues_until_no_month_has_eight_of_a_size(cast: Cast) -> None:
    for _ in range(7):
        flush(cast, *some_events(0, 8))
    for number in range(8):
        flush(cast, *some_events(number))
    assert merge_usage(cast.account) == CompactionResult(2, 8 + 64)
    assert counts(cast) == [64]


def test_compaction_can_be_limited_to_a_source_and_month(cast: Cast) -> None:
    for number in range(8):
        flush(cast, *some_events(number))
    assert merge_usage(cast.account, {(2, date(2026, 1, 1)), (1, date(2026, 2, 1))}) == CompactionResult(0, 0)
    assert merge_usage(cast.account, {(1, date(2026, 1, 1))}) == CompactionResult(1, 8)


def test_the_nightly_pass_leaves_one_segment_a_month(cast: Cast) -> None:
    for number in range(3):
        flush(cast, *some_events(number, 1 + 7 * number), Event(event_time=datetime(2025, 5, 1, tzinfo=UTC)))
    before = rows(cast.account)
    assert tidy_usage(cast.account) == CompactionResult(2, 3 + 24)
    assert sorted(counts(cast)) == [3, 24]
    assert rows(cast.account) == before
    assert tidy_usage(cast.account) == CompactionResult(0, 0)


def test_large_segments_are_not_written_again(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FULL_ROWS", 8)
    for number in (8, 8, 1, 2):
        flush(cast, *some_events(0, number))
    assert tidy_usage(cast.account) == CompactionResult(1, 3)
    assert sorted(counts(cast)) == [3, 8, 8]


def test_segments_of_too_many_keys_together_merge_as_far_as_they_fit(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MAX_KEYS", 5)
    for number in range(8):
        flush(cast, Event(Decimal(number), dimensions={f"Key{number}": "v", "shared": "v"}))
    assert merge_usage(cast.account) == CompactionResult(1, 4)
    assert tidy_usage(cast.account) == CompactionResult(1, 4)
    assert all(len(segment.key_columns) <= 5 for segment in live(cast.account))
    assert len(live(cast.account)) == 2
    assert quantity_by(cast.account, "dim:shared", "shared") == {"v": sum(range(8))}
    assert queries.dimension_keys(cast.account) == sorted(["shared", *(f"Key{n}" for n in range(8))])


def test_keys_that_differ_by_case_alone_stay_separate_in_one_file(cast: Cast) -> None:
    for number, key in enumerate(["env", "Env", "ENV", "straße", "STRASSE", "k", "\u212a", ""]):
        flush(cast, Event(Decimal(2**number), dimensions={key: f"v{number}"}))
    before = queries.dimension_keys(cast.account)
    assert merge_usage(cast.account) == CompactionResult(1, 8)
    assert queries.dimension_keys(cast.account) == before
    assert quantity_by(cast.account, "dim:^env", "Env") == {"v1": 2, None: 253}


def test_a_file_that_lost_rows_or_took_too_long_is_never_used(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        flush(cast, *some_events(number))
    before = list(storage().files())
    rows_ = segment_rewriter._rows
    monkeypatch.setattr(segment_rewriter, "_rows", lambda *args: (batch.slice(1) for batch in rows_(*args)))
    with pytest.raises(segment_rewriter.RowsLost, match=r"have 8 rows, and the new file [1-7]\."):
        merge_usage(cast.account)
    assert counts(cast) == [1] * 8
    assert list(storage().files()) == before
    monkeypatch.undo()
    with pytest.raises(time_limit.TimeLimitError), time_limit.limit_time(0):
        merge_usage(cast.account)
    assert counts(cast) == [1] * 8
    assert list(storage().files()) == before


def test_files_that_were_merged_stay_an_hour_and_go(cast: Cast) -> None:
    for number in range(8):
        flush(cast, *some_events(number))
    merge_usage(cast.account)
    assert sweep().retired == 0
    with clock.frozen(datetime.now(UTC) + timedelta(hours=2)):
        assert sweep().retired == 8
    assert quantity_by(cast.account, "day") == {NOON.date(): 255}


def files_of(cast: Cast) -> set[str]:
    """The account's files: other tests of this process leave theirs to the sweep."""
    return {file.path for file in storage().files(f"{cast.account.pk}")}


def test_files_left_by_a_killed_flush_or_merge_are_deleted_after_a_day(cast: Cast) -> None:
    flush(cast, *some_events(0))
    table = next(iter(segment_rewriter._rows(live(cast.account), schema.USAGE_SCHEMA, None)))
    orphan = segments.write_segment(
        account_id=cast.account.pk,
        kind=Kind.USAGE,
        source_id=1,
        month=NOON.date(),
        batches=[table],
        schema=schema.USAGE_SCHEMA,
    )
    files = files_of(cast)
    assert orphan.path in files
    sweep()
    assert files_of(cast) == files
    with clock.frozen(datetime.now(UTC) + timedelta(hours=25)):
        assert sweep().orphans >= 1
    assert files_of(cast) == files - {orphan.path}
    assert quantity_by(cast.account, "day") == {NOON.date(): 1}


def void_usage(cast: Cast, batch: uuid.UUID, *, source_id: int = 1, days: Sequence[date] = ALWAYS) -> int:
    return void_batch(
        account=cast.account, source_id=source_id, batch=batch, first_day=days[0], last_day=days[1]
    )


def test_a_void_takes_a_batch_out_of_inbox_and_segments_and_nothing_else(cast: Cast) -> None:
    months = [Event(Decimal(1), NOON + timedelta(days=31 * n), dimensions={"k": "v"}) for n in range(3)]
    wrong = push(cast.account, months)
    push(cast.account, [Event(Decimal(10), NOON), Event(Decimal(20), NOON + timedelta(days=31))])
    flush_usage(cast.account)
    waits = push(cast.account, [Event(Decimal(100)), Event(Decimal(100))])
    push(cast.account, [Event(Decimal(1_000))])
    assert void_usage(cast, wrong) == 3
    assert quantity_by(cast.account, "metric") == {"calls": 1_000 + 230}
    assert queries.dimension_keys(cast.account) == ["k"], "a key stays while a file has its column"
    assert (void_usage(cast, wrong), void_usage(cast, waits), void_usage(cast, waits)) == (0, 2, 0)
    assert quantity_by(cast.account, "metric") == {"calls": 1_030}
    assert len(live(cast.account)) == 2


def test_a_void_looks_at_its_own_account_source_and_days_only(cast: Cast) -> None:
    batch = flush(cast, Event(Decimal(1)))
    assert void_usage(cast, batch, source_id=2) == 0
    later = (NOON.date() + timedelta(days=1), date.max)
    assert void_usage(cast, batch, days=later) == 0
    assert (
        void_batch(
            account=cast.other_account, source_id=1, batch=batch, first_day=date.min, last_day=date.max
        )
        == 0
    )
    assert quantity_by(cast.account, "metric") == {"calls": 1}
    scope: Any = {"account": cast.account, "source_id": 1, "last_day": date.max}
    assert rows_to_scan(first_day=date.min, **scope) == 1
    assert rows_to_scan(first_day=later[0], **scope) == 0
    assert void_usage(cast, batch, days=(NOON.date(), NOON.date())) == 1
    assert quantity_by(cast.account, "metric") == {}


def test_a_void_finds_its_batch_after_merges(cast: Cast) -> None:
    batches = [flush(cast, *some_events(number)) for number in range(8)]
    merge_usage(cast.account)
    for number in (3, 5):
        assert void_usage(cast, batches[number]) == 1
    assert quantity_by(cast.account, "day") == {NOON.date(): 255 - 8 - 32}
    assert counts(cast) == [6]


def test_usage_of_the_months_before_is_dropped_whole_and_the_rest_stays(cast: Cast) -> None:
    days = [date(2025, 12, 31), date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1)]
    flush(cast, *(Event(Decimal(1), datetime(d.year, d.month, d.day, tzinfo=UTC)) for d in days))
    assert drop_usage_before(account=cast.account, month=date(2026, 1, 1)) == 1
    assert quantity_by(cast.account, "day") == dict.fromkeys(days[1:], 1)
    assert drop_usage_before(account=cast.account, month=date(2026, 2, 1)) == 2
    assert drop_usage_before(account=cast.account, month=date(2026, 2, 1)) == 0
    assert quantity_by(cast.account, "day") == {days[3]: 1}
    assert LakeSegment.objects.unscoped().filter(retired_at=None).count() == 1
