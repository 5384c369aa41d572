from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from finops.lake import queries, schema
from finops.lake.engine import duckdb as lake_duckdb
from finops.lake.engine import engine, snapshot
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.storage import storage
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake import facts
from tests.finops.lake.events import (
    ALWAYS,
    NOON,
    Event,
    delete_usage,
    flush,
    push,
    quantity_by,
    run_query,
    store,
    sum_by_key,
    write,
)

pytestmark = pytest.mark.django_db

ONE = Decimal("0.000000000001")
ALMOST = schema.QUANTITY_LIMIT - ONE

# What PostgreSQL can hold: no NUL, no lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
moments = st.datetimes(timezones=st.just(UTC))
hours = st.integers(0, 24 * 32).map(lambda number: NOON + timedelta(hours=number))
quantities = st.one_of(
    st.decimals(min_value=-ALMOST, max_value=ALMOST, places=12, allow_nan=False),
    st.decimals(min_value=-1000, max_value=1000, places=2, allow_nan=False),
)
events = st.builds(
    Event,
    quantity=quantities,
    event_time=st.one_of(hours, moments),
    customer_id=st.sampled_from(["c-1", "C-1", 'c"2', "c,3\n", "\\N", "\\.", "ü"]),
    unit=st.sampled_from([None, "", "NULL", "call"]),
    dimensions=st.dictionaries(
        st.sampled_from(["plan", "Plan", "^", "", 'a"b', "it's", "%s", "{}", "日本"]), texts, max_size=3
    ),
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None
)
@given(split=st.lists(st.tuples(events, st.integers(0, 3)), min_size=1, max_size=40))
def test_events_split_over_segments_and_inbox_add_up_as_python_adds_them(
    cast: Cast, split: list[tuple[Event, int]]
) -> None:
    delete_usage(cast.account)
    every = [event for event, _ in split]
    for _, month in itertools.groupby(
        _stored_events(split), key=lambda event: (event.day.year, event.day.month)
    ):
        store(cast.account, list(month))
    push(cast.account, [event for event, place in split if place >= 2])
    keys = sorted({key for event in every for key in event.dimensions})

    assert quantity_by(cast.account, "customer_id") == sum_by_key(
        (event.customer_id, event.quantity) for event in every
    )
    assert quantity_by(cast.account, "unit") == sum_by_key((event.unit, event.quantity) for event in every)
    assert quantity_by(cast.account, "day") == sum_by_key((event.day, event.quantity) for event in every)
    assert quantity_by(cast.account, "event_time") == sum_by_key(
        (event.event_time, event.quantity) for event in every
    )
    for key in keys:
        assert quantity_by(cast.account, schema.dimension_column(key), *keys) == sum_by_key(
            (event.dimensions.get(key), event.quantity) for event in every
        )
    assert queries.dimension_keys(cast.account) == keys
    data_range = queries.data_range(cast.account, Kind.USAGE)
    assert data_range is not None
    days = [event.day for event in every]
    assert (data_range.first_day, data_range.last_day, data_range.rows) == (min(days), max(days), len(every))


def _stored_events(split: list[tuple[Event, int]]) -> list[Event]:
    return sorted((event for event, place in split if place < 2), key=lambda event: event.event_time)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(100), deadline=None
)
@given(found=st.lists(st.tuples(texts.filter(bool), texts), min_size=1, max_size=5))
@example(found=[("0", "zero"), ("-1", '"'), ("NULL", "NULL"), (",", "\r\n"), ("\\.", "\\.")])
def test_any_text_comes_back_from_the_inbox_as_it_was(cast: Cast, found: list[tuple[str, str]]) -> None:
    delete_usage(cast.account)
    push(
        cast.account,
        [
            Event(customer_id=customer_id, unit=unit, dimensions={customer_id: unit})
            for customer_id, unit in found
        ],
    )
    keys = sorted({customer_id for customer_id, _ in found})
    rows = run_query(
        cast.account,
        lambda usage: usage.select("position", "customer_id", "unit", *map(schema.dimension_column, keys)),
        *keys,
    )
    rows.sort(key=lambda row: row["position"])
    for (customer_id, unit), row in zip(found, rows, strict=True):
        assert (row["customer_id"], row["unit"], row[schema.dimension_column(customer_id)]) == (
            customer_id,
            unit,
            unit,
        )


def test_a_waiting_event_has_every_column_that_a_stored_one_has(cast: Cast) -> None:
    noon = Event(Decimal("2.5"), NOON.replace(microsecond=7), "c-1", "calls", "call", {"plan": "pro"})
    batch = push(cast.account, [Event(Decimal(0)), noon], source_id=42)
    rows = run_query(cast.account, lambda usage: usage.filter(usage.position == 1), "plan")
    assert rows[0].pop("received_at").tzinfo is not None
    assert rows == [
        {
            "event_time": noon.event_time,
            "day": date(2026, 1, 1),
            "source": "42",
            "customer_id": "c-1",
            "metric": "calls",
            "unit": "call",
            "quantity": Decimal("2.5"),
            "batch": str(batch),
            "position": 1,
            "dim:plan": "pro",
        }
    ]


def test_a_question_of_one_column_counts_its_nulls_too(cast: Cast) -> None:
    push(cast.account, [Event(unit=unit) for unit in (None, "", None, "call", None)])
    rows = run_query(cast.account, lambda usage: usage.group_by("unit").agg(events=usage.count()))
    assert {row["unit"]: row["events"] for row in rows} == {None: 3, "": 1, "call": 1}
    push(cast.account, [Event()])
    assert run_query(cast.account, lambda usage: usage.agg(n=usage["dim:plan"].count()), "plan") == [{"n": 0}]


@pytest.mark.parametrize("waiting", [True, False], ids=["inbox", "segment"])
def test_a_day_is_that_of_utc(cast: Cast, waiting: bool) -> None:
    east = timezone(timedelta(hours=9))
    add_events: Any = push if waiting else store
    add_events(cast.account, [Event(Decimal(1), datetime(2026, 1, 2, 8, 59, 59, 999999, tzinfo=east))])
    add_events(cast.account, [Event(Decimal(2), datetime(2026, 1, 2, 9, tzinfo=east))])
    assert quantity_by(cast.account, "day") == {date(2026, 1, 1): 1, date(2026, 1, 2): 2}
    assert quantity_by(cast.account, "day", days=(date(2026, 1, 2), date(2026, 1, 2))) == {
        date(2026, 1, 2): 2
    }
    assert quantity_by(cast.account, "day", days=(date(2026, 1, 1), date(2026, 1, 1))) == {
        date(2026, 1, 1): 1
    }


def test_the_first_and_the_last_moment_there_are_can_wait(cast: Cast) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    push(cast.account, [Event(ALMOST, first), Event(-ALMOST, last), Event(ONE, last)])
    assert quantity_by(cast.account, "event_time") == {first: ALMOST, last: ONE - ALMOST}
    assert quantity_by(cast.account, "day", days=(date.max, date.max)) == {date.max: ONE - ALMOST}
    data_range = queries.data_range(cast.account, Kind.USAGE)
    assert data_range is not None
    assert (data_range.first_day, data_range.last_day) == ALWAYS


def test_usage_adds_up_by_dimension_beside_costs_of_the_same_source_number(cast: Cast) -> None:
    facts.store(cast.account, [facts.line(facts.JANUARY, 1)])
    pro = {"Plan": "pro"}
    store(cast.account, [Event(ONE, dimensions=pro), Event(Decimal(2), dimensions={"plan": "free"})])
    push(cast.account, [Event(ALMOST, dimensions=pro), Event(Decimal(3), dimensions={"plan": "pro"})])
    assert quantity_by(cast.account, "dim:^plan", "Plan") == {"pro": schema.QUANTITY_LIMIT, None: 5}
    assert quantity_by(cast.account, "dim:plan", "plan") == {"pro": 3, "free": 2, None: schema.QUANTITY_LIMIT}
    assert queries.dimension_keys(cast.account) == ["Plan", "plan"]


def test_a_thousand_dimensions_wait_and_are_queried_together(cast: Cast) -> None:
    keys = [f"Key {number}" for number in range(schema.MAX_KEYS)]
    store(cast.account, [Event(dimensions=dict.fromkeys(keys[::2], "stored"))])
    push(cast.account, [Event(dimensions=dict.fromkeys(keys, "waiting"))])
    columns = [schema.dimension_column(key) for key in keys]
    rows = run_query(cast.account, lambda usage: usage.select(*columns), *keys)
    assert len(rows) == 2
    assert {row[columns[1]] for row in rows} == {None, "waiting"}
    assert {row[columns[998]] for row in rows} == {"stored", "waiting"}
    assert queries.dimension_keys(cast.account) == sorted(keys)


@pytest.mark.parametrize("key", ["a\x00b", "\ud800"], ids=["nul", "surrogate"])
def test_a_key_that_no_event_can_have_is_null(cast: Cast, key: str) -> None:
    push(cast.account, [Event(Decimal(3))])
    assert quantity_by(cast.account, schema.dimension_column(key), key) == {None: 3}


def test_an_account_sees_its_own_waiting_events_only(cast: Cast) -> None:
    push(cast.account, [Event(Decimal(1), dimensions={"mine": "x"})])
    push(cast.other_account, [Event(Decimal(2), dimensions={"theirs": "x"})])
    assert quantity_by(cast.account, "customer_id") == {"c-1": 1}
    assert quantity_by(cast.other_account, "customer_id") == {"c-1": 2}
    assert queries.dimension_keys(cast.account) == ["mine"]
    data_range = queries.data_range(cast.account, Kind.USAGE)
    assert data_range is not None
    assert data_range.rows == 1


def test_ranges_name_each_source(cast: Cast) -> None:
    assert queries.data_range(cast.account, Kind.USAGE) is None
    store(cast.account, [Event(event_time=NOON - timedelta(days=40))], source_id=1)
    push(cast.account, [Event(), Event(event_time=NOON + timedelta(days=1))], source_id=1)
    push(cast.account, [Event()], source_id=2)
    data_range = queries.data_range(cast.account, Kind.USAGE)
    assert data_range == queries.DataRange(
        first_day=date(2025, 11, 22),
        last_day=date(2026, 1, 2),
        rows=4,
        sources=[
            queries.SourceRange(1, date(2025, 11, 22), date(2026, 1, 2), 3),
            queries.SourceRange(2, date(2026, 1, 1), date(2026, 1, 1), 1),
        ],
    )


def test_the_answer_without_usage_is_typed_and_empty(cast: Cast) -> None:
    table = engine.run(cast.account, Kind.USAGE, *ALWAYS, lambda usage: usage.select("day", "quantity"))
    assert table.schema == pa.schema([("day", pa.date32()), ("quantity", schema.QUANTITY)])
    assert table.num_rows == 0


def test_segments_and_inbox_are_one_statement(cast: Cast) -> None:
    store(cast.account, [Event()])
    push(cast.account, [Event()])
    with CaptureQueriesContext(connection) as statements:
        assert quantity_by(cast.account, "metric") == {"calls": 2}
    assert len(statements) == 1


def test_a_question_of_cost_never_looks_into_the_inbox(cast: Cast) -> None:
    facts.store(cast.account, [facts.line(facts.JANUARY, 1)])
    with CaptureQueriesContext(connection) as statements:
        assert facts.total(cast.account) == 1
    assert not any("lake_usageinbox" in query["sql"] for query in statements)


def test_a_sum_with_more_digits_than_there_are_is_refused_and_not_wrapped(cast: Cast) -> None:
    """Quantities below the limit would have to come 1.7 million times; the inbox takes larger ones by hand."""
    huge = Decimal(10) ** 25 * 9
    push(cast.account, [Event(huge, customer_id=f"c-{number % 3}") for number in range(5_000)])
    assert (
        max(row["q"] for row in run_query(cast.account, lambda usage: usage.agg(q=usage.quantity.max())))
        == huge
    )
    for column in ("customer_id", "metric"):
        with pytest.raises(engine.LakeTooLarge, match="The total is too large"):
            quantity_by(cast.account, column)


@pytest.mark.parametrize("quantity", [schema.QUANTITY_LIMIT, -schema.QUANTITY_LIMIT], ids=["high", "low"])
def test_a_segment_takes_no_quantity_with_which_sums_could_overflow(cast: Cast, quantity: Decimal) -> None:
    with pytest.raises(ValueError, match="quantity has an amount"):
        write(cast.account, [Event(quantity)])


def test_a_segment_joins_its_month_and_retires_nothing(cast: Cast) -> None:
    store(cast.account, [Event(Decimal(1))])
    store(cast.account, [Event(Decimal(2))])
    assert quantity_by(cast.account, "metric") == {"calls": 3}
    assert LakeSegment.objects.unscoped().filter(account=cast.account, retired_at=None).count() == 2


def test_a_segment_that_is_added_must_be_of_the_account_and_source(cast: Cast) -> None:
    new = write(cast.account, [Event()])
    for account, source_id in ((cast.other_account, 1), (cast.account, 2)):
        with pytest.raises(ValueError, match="is not of this account"):
            segments.add_segments(account=account, kind=Kind.USAGE, source_id=source_id, new=[new])


def test_with_a_source_what_waits_of_it_goes_too(cast: Cast) -> None:
    for source_id, quantity in ((1, 1), (2, 10)):
        store(cast.account, [Event(Decimal(quantity))], source_id=source_id)
        push(cast.account, [Event(Decimal(quantity))], source_id=source_id)
    push(cast.other_account, [Event(Decimal(100))], source_id=1)
    segments.retire_source(account=cast.account, kind=Kind.COST, source_id=1)
    assert quantity_by(cast.account, "source") == {"1": 2, "2": 20}
    segments.retire_source(account=cast.account, kind=Kind.USAGE, source_id=1)
    assert quantity_by(cast.account, "source") == {"2": 20}
    assert quantity_by(cast.other_account, "source") == {"1": 100}


def test_with_an_account_what_waits_of_it_goes_too(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        push(account, [Event()])
    cast.account.delete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT account_id FROM lake_usageinbox")
        assert cursor.fetchall() == [(cast.other_account.pk,)]


def test_an_addition_that_is_rolled_back_never_counts(cast: Cast) -> None:
    push(cast.account, [Event(Decimal(5))])
    with transaction.atomic():
        assert flush(cast.account) == 1
        assert quantity_by(cast.account, "metric") == {"calls": 5}
        transaction.set_rollback(True)
    assert quantity_by(cast.account, "metric") == {"calls": 5}
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM lake_usageinbox")
        assert cursor.fetchone() == (1,)


def test_after_an_unreadable_file_manifest_and_inbox_are_read_again_together(cast: Cast) -> None:
    """Between manifest and files, a swap replaces the file and a flush moves what waited."""
    store(cast.account, [Event(Decimal(1))])
    push(cast.account, [Event(Decimal(10))])
    unreadable = LakeSegment.objects.unscoped().get(account=cast.account)
    take_snapshot = snapshot.take
    reads = []

    def move_after_snapshot(*args: Any, **options: Any) -> Any:
        answer = take_snapshot(*args, **options)
        reads.append(answer)
        if len(reads) == 1:
            storage().delete(unreadable.path)
            new = [write(cast.account, [Event(Decimal(1))])]
            segments.swap_segments(
                account=cast.account, kind=Kind.USAGE, source_id=1, months=[unreadable.month], new=new
            )
            flush(cast.account)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "take", move_after_snapshot)
        assert quantity_by(cast.account, "metric") == {"calls": 11}
    assert [(len(read.files), read.waiting is not None) for read in reads] == [(1, True), (2, False)]


def test_no_cursor_sees_what_another_has_waiting(cast: Cast) -> None:
    """Inside the block the view exists on one cursor; the instance and its other cursors know no such table."""
    push(cast.account, [Event()])
    quantity_by(cast.account, "metric")
    shared = lake_duckdb.instance().connection
    own_cursor, other = shared.cursor(), shared.cursor()
    own_cursor.register("waiting", pa.table({"n": [1]}))
    assert own_cursor.execute("SELECT n FROM waiting").fetchall() == [(1,)]
    for connection_ in (other, shared, shared.cursor()):
        with pytest.raises(duckdb.CatalogException):
            connection_.execute("SELECT n FROM waiting")
    own_cursor.close()


@pytest.mark.django_db(transaction=True)
def test_threads_of_two_accounts_get_their_own_waiting_events(cast: Cast) -> None:
    for factor, account in ((1, cast.account), (1_000, cast.other_account)):
        push(account, [Event(Decimal(n * factor), customer_id=f"c-{n % 7}") for n in range(1_000)])
    expected = {
        account.pk: {
            f"c-{remainder}": sum(n * factor for n in range(1_000) if n % 7 == remainder)
            for remainder in range(7)
        }
        for factor, account in ((1, cast.account), (1_000, cast.other_account))
    }

    def is_right(number: int) -> bool:
        account = cast.account if number % 2 else cast.other_account
        try:
            return quantity_by(account, "customer_id") == expected[account.pk]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(is_right, range(120))) == [True] * 120


@pytest.mark.django_db(transaction=True)
def test_while_events_move_to_segments_every_answer_has_each_exactly_once(cast: Cast) -> None:
    """One thread pushes rounds of powers of two and flushes them; readers must see whole rounds, never fewer."""
    pushed = [Event(Decimal(2**number)) for number in range(40)]
    whole = Decimal(2**40 - 1)
    enough = threading.Event()

    def move() -> int:
        rounds = 0
        try:
            while not enough.is_set():
                push(cast.account, pushed)
                assert flush(cast.account) == 40
                rounds += 1
        finally:
            connection.close()
        return rounds

    def read(_: int) -> list[tuple[Decimal, int]]:
        try:
            rows = [
                run_query(cast.account, lambda usage: usage.agg(q=usage.quantity.sum(), n=usage.count()))[0]
                for _ in range(30)
            ]
        finally:
            connection.close()
        return [(row["q"] or Decimal(0), row["n"]) for row in rows]

    with ThreadPoolExecutor(3) as threads:
        mover = threads.submit(move)
        try:
            answers = list(threads.map(read, range(2)))
        finally:
            enough.set()
    for readings in answers:
        counts = [events // 40 for _, events in readings]
        assert readings == [(whole * count, 40 * count) for count in counts]
        assert counts == sorted(counts)
    assert quantity_by(cast.account, "metric") == {"calls": whole * mover.result()}
