from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.lake import queries, schema
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.storage import storage
from finops.lib import clock
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake.facts import (
    EVER,
    FEBRUARY,
    JANUARY,
    line,
    manifest_rows,
    run_query,
    store,
    swap,
    total,
    write,
)

pytestmark = pytest.mark.django_db

in_parallel = pytest.mark.django_db(transaction=True)


# What a written file is


def test_the_manifest_describes_the_file(cast: Cast) -> None:
    days = [JANUARY + timedelta(days=3), JANUARY, JANUARY + timedelta(days=9)]
    swap(cast.account, write(cast.account, [line(day, 1, tags={"Env": "x"}) for day in days]))
    (segment,) = manifest_rows(cast.account)
    file = Path(storage().local(segment.path, segment.checksum))
    assert (segment.first_day, segment.last_day, segment.rows) == (JANUARY, JANUARY + timedelta(days=9), 3)
    assert segment.bytes == file.stat().st_size
    assert segment.columns == pq.read_schema(file).names
    assert segment.key_columns == {"Env": "tag:^env"}


def test_a_file_has_whole_row_groups_however_small_its_batches_are(cast: Cast) -> None:
    days = pa.array([JANUARY] * 1_000, pa.date32())
    small = pa.record_batch(
        {
            field.name: days if field.name == "charge_date" else pa.nulls(1_000, field.type)
            for field in schema.COST_SCHEMA
        }
    )
    segment = segments.write_segment(
        account_id=cast.account.pk,
        kind=Kind.COST,
        source_id=1,
        month=JANUARY,
        batches=(small for _ in range(250)),
        schema=schema.COST_SCHEMA,
    )
    metadata = pq.read_metadata(storage().local(segment.path, segment.checksum))
    groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert groups == [122_880, 122_880, 4_240]


def test_dictionary_encoded_strings_are_stored_as_strings(cast: Cast) -> None:
    full = schema.segment_schema(Kind.COST, ["env"])
    table = pa.Table.from_pylist([line(JANUARY, 1, service="EC2", tags={"env": "a"})], schema=full)
    encoded = pa.table({name: _dictionary_encode(table[name]) for name in full.names})
    segment = segments.write_segment(
        account_id=cast.account.pk,
        kind=Kind.COST,
        source_id=1,
        month=JANUARY,
        batches=encoded.to_batches(),
        schema=encoded.schema,
    )
    assert pq.read_schema(storage().local(segment.path, segment.checksum)).equals(full)


def test_a_segment_from_before_a_column_and_one_with_it_answer_together(cast: Cast) -> None:
    """Segments that were written when the lake had only the columns of every bill."""
    before = pa.schema([field for field in schema.COST_SCHEMA if field.name not in schema.OPTIONAL])
    ended = datetime(2026, 2, 1, 3, 30, tzinfo=UTC)
    old = segments.write_segment(
        account_id=cast.account.pk,
        kind=Kind.COST,
        source_id=1,
        month=JANUARY,
        batches=pa.Table.from_pylist([line(JANUARY, 1)], schema=before).to_batches(),
        schema=before,
    )
    swap(cast.account, old)
    columns = {"charge_period_end": pa.timestamp("us", "UTC"), "invoice_id": pa.string()}
    table = engine.run(cast.account, Kind.COST, *EVER, lambda cost: cost.select(*columns, "pricing_quantity"))
    assert table.schema.types == [*columns.values(), schema.MONEY]
    assert table.to_pylist() == [{**dict.fromkeys(columns), "pricing_quantity": None}]
    february = line(FEBRUARY, 2, charge_period_end=ended, invoice_id="I-1", pricing_quantity=Decimal(3))
    store(cast.account, [february], source_id=2, month=FEBRUARY)
    rows = run_query(
        cast.account,
        lambda cost: cost.group_by(*columns).agg(
            total=cost.billed_cost.sum(), quantity=cost.pricing_quantity.sum()
        ),
    )
    assert sorted(
        (row["invoice_id"], row["charge_period_end"], row["total"]) for row in rows if row["invoice_id"]
    ) == [("I-1", ended, Decimal(2))]
    assert [(row["total"], row["quantity"]) for row in rows if not row["invoice_id"]] == [(Decimal(1), None)]


def _dictionary_encode(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.dictionary_encode() if pa.types.is_string(column.type) else column


def _assert_refused(
    cast: Cast, message: str, rows: list[dict[str, Any]], full: pa.Schema = schema.COST_SCHEMA
) -> None:
    before = {file.path for file in storage().files()}
    with pytest.raises(ValueError, match=message):
        segments.write_segment(
            account_id=cast.account.pk,
            kind=Kind.COST,
            source_id=1,
            month=JANUARY,
            batches=pa.Table.from_pylist(rows, schema=full).to_batches(),
            schema=full,
        )
    assert {file.path for file in storage().files()} == before


def test_a_segment_without_rows_is_refused(cast: Cast) -> None:
    _assert_refused(cast, "at least one row", [])


def test_a_row_without_a_day_is_refused(cast: Cast) -> None:
    _assert_refused(cast, "1 rows have no charge_date", [line(JANUARY, 1), {"billed_cost": Decimal(1)}])


def test_an_amount_whose_sum_could_wrap_around_is_refused(cast: Cast) -> None:
    _assert_refused(cast, "billed_cost has an amount", [line(JANUARY, -(10**15))])


def test_a_schema_of_another_kind_is_refused(cast: Cast) -> None:
    _assert_refused(cast, "begins with the columns", [], schema.USAGE_SCHEMA)


def test_a_column_of_another_type_is_refused(cast: Cast) -> None:
    place = schema.COST_SCHEMA.get_field_index("billed_cost")
    floats = schema.COST_SCHEMA.set(place, pa.field("billed_cost", pa.float64()))
    _assert_refused(cast, "do not have the type", [], floats)


def test_more_than_a_thousand_keys_are_refused(cast: Cast) -> None:
    _assert_refused(
        cast, "at most 1000", [], schema.segment_schema(Kind.COST, [f"k{n}" for n in range(1_001)])
    )


def test_a_dimension_column_in_a_cost_segment_is_refused(cast: Cast) -> None:
    _assert_refused(cast, "begin with 'tag:'", [], schema.COST_SCHEMA.append(pa.field("dim:x", pa.string())))


# What counts


def test_a_written_segment_does_not_count_before_its_swap(cast: Cast) -> None:
    new = write(cast.account, [line(JANUARY, 1)])
    assert total(cast.account) is None
    swap(cast.account, new)
    assert total(cast.account) == 1


def test_a_swap_replaces_its_months_and_leaves_the_others(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(FEBRUARY, 2)], month=FEBRUARY)
    store(cast.account, [line(JANUARY, 4)], source_id=2)
    store(cast.account, [line(JANUARY, 8)])
    assert total(cast.account) == 2 + 4 + 8


def test_a_month_swapped_for_nothing_is_empty(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [])
    assert total(cast.account) is None


def test_a_swap_that_rolls_back_changes_nothing(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    new = write(cast.account, [line(JANUARY, 2)])
    with transaction.atomic():
        swap(cast.account, new)
        transaction.set_rollback(True)
    assert total(cast.account) == 1


def test_a_segment_of_another_account_source_or_month_is_not_swapped_in(cast: Cast) -> None:
    for new in (
        write(cast.other_account, [line(JANUARY, 1)]),
        write(cast.account, [line(JANUARY, 1)], source_id=2),
        write(cast.account, [line(FEBRUARY, 1)], month=FEBRUARY),
    ):
        with pytest.raises(ValueError, match="is not of this account"):
            swap(cast.account, new)


def test_a_segment_written_long_ago_is_not_swapped_in(cast: Cast) -> None:
    new = write(cast.account, [line(JANUARY, 1)])
    with clock.frozen(datetime.now(UTC) + timedelta(hours=13)), pytest.raises(ValueError, match="12 hours"):
        swap(cast.account, new)


def test_the_data_range_is_that_of_what_counts(cast: Cast) -> None:
    assert queries.data_range(cast.account, Kind.COST) is None
    store(cast.account, [line(JANUARY, 1), line(JANUARY + timedelta(days=5), 1)])
    store(cast.account, [line(FEBRUARY, 1)], source_id=2, month=FEBRUARY)
    store(cast.account, [line(FEBRUARY, 1)], source_id=3, month=FEBRUARY)
    segments.retire_source(account=cast.account, kind=Kind.COST, source_id=3)
    data_range = queries.data_range(cast.account, Kind.COST)
    assert data_range is not None
    assert (data_range.first_day, data_range.last_day, data_range.rows) == (JANUARY, FEBRUARY, 3)
    assert [(source.source_id, source.rows) for source in data_range.sources] == [(1, 2), (2, 1)]


def test_tag_keys_are_those_of_what_counts(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, tags={"old": "x"})])
    store(cast.account, [line(JANUARY, 1, tags={"b": "x", "A": "y"})])
    store(cast.account, [line(FEBRUARY, 1, tags={"b": "x", "c^": "y"})], month=FEBRUARY)
    store(cast.other_account, [line(JANUARY, 1, tags={"theirs": "x"})])
    assert queries.tag_keys(cast.account) == ["A", "b", "c^"]


@given(
    st.lists(
        st.tuples(st.sampled_from([JANUARY, FEBRUARY]), st.integers(1, 2), st.integers(0, 99)), max_size=12
    )
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(15), deadline=None
)
def test_after_any_swaps_the_last_of_each_source_and_month_counts(
    cast: Cast, swaps: list[tuple[date, int, int]]
) -> None:
    segments.retire_source(account=cast.account, kind=Kind.COST, source_id=1)
    segments.retire_source(account=cast.account, kind=Kind.COST, source_id=2)
    last: dict[tuple[date, int], int] = {}
    for month, source, cost in swaps:
        store(cast.account, [line(month, cost)], source_id=source, month=month)
        last[month, source] = cost
    assert total(cast.account) == (sum(last.values()) if last else None)


# Together


@contextmanager
def _repeat_in_thread(work: Callable[[], None]) -> Iterator[Future[None]]:
    """`work`, again and again in a thread of its own, while the block runs; done before only if it failed."""
    over = threading.Event()

    def repeat() -> None:
        while not over.is_set():
            work()
        connection.close()

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(repeat)
        try:
            yield running
        finally:
            over.set()
            running.result()


@in_parallel
def test_a_reader_during_swaps_sees_exactly_an_old_or_a_new_sum(cast: Cast) -> None:
    """Each version has two months that only together give one of the whole sums."""

    def version(number: int) -> list[segments.NewSegment]:
        halves = ((JANUARY, number), (FEBRUARY, 1_000 * number))
        return [write(cast.account, [line(month, cost)], month=month) for month, cost in halves]

    versions = [1, 2, 3]
    both = (JANUARY, FEBRUARY)
    swap(cast.account, *version(1), months=both)
    swaps: list[int] = []

    def next_version() -> None:
        swap(cast.account, *version(versions[len(swaps) % 3]), months=both)
        swaps.append(1)

    sums: set[Decimal | None] = set()
    reads = 0
    with _repeat_in_thread(next_version) as running:
        while reads < 60 or (len(swaps) < 4 and not running.done()):
            sums.add(total(cast.account))
            reads += 1
    assert sums <= {Decimal(1_001), Decimal(2_002), Decimal(3_003)}


@in_parallel
def test_swaps_of_one_month_at_once_leave_one_winner(cast: Cast) -> None:
    new = [write(cast.account, [line(JANUARY, 10**number)]) for number in range(8)]
    together = threading.Barrier(8)

    def one(segment: segments.NewSegment) -> None:
        together.wait()
        swap(cast.account, segment)
        connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, new))
    assert total(cast.account) in {Decimal(10**number) for number in range(8)}
    assert sum(row.retired_at is None for row in manifest_rows(cast.account)) == 1


@in_parallel
def test_a_second_swap_waits_for_the_first_to_commit(cast: Cast) -> None:
    first, second = (write(cast.account, [line(JANUARY, cost)]) for cost in (1, 2))

    def swap_second() -> None:
        swap(cast.account, second)
        connection.close()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            swap(cast.account, first)
            waiting = thread.submit(swap_second)
            assert _someone_waits_for_a_lock()
            assert not waiting.done()
        waiting.result()
    assert total(cast.account) == 2


def _someone_waits_for_a_lock() -> bool:
    until = time.monotonic() + 60
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(
                "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
                "WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"
            )
            if cursor.fetchone()[0]:
                return True
    return False


def test_live_segments_are_found_by_their_days_only(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(FEBRUARY, 2)], month=FEBRUARY)
    assert [row.month for row in queries.live_segments(cast.account, Kind.COST, JANUARY, JANUARY)] == [
        JANUARY
    ]
    assert queries.live_segments(cast.account, Kind.COST, *EVER).count() == 2
