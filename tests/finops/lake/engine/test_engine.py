from __future__ import annotations

import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from finops.lake import queries, schema
from finops.lake.engine import duckdb as lake_duckdb
from finops.lake.engine import engine
from finops.lake.engine.compiler import compile_query
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.storage import storage
from finops.lib.bulkheads import Busy
from finops.lib.errors import UserError
from finops.lib.time_limit import limit_time
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, as_dict, billed_by, line, run_query, store, total

pytestmark = pytest.mark.django_db

amounts = st.decimals(min_value="-1e12", max_value="1e12", places=18, allow_nan=False)
lines = st.tuples(
    st.dates(JANUARY, date(2026, 1, 31)), amounts, st.sampled_from(["EC2", "S3", "ec2", "", None])
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None
)
@given(rows=st.lists(lines, min_size=1, max_size=60))
def test_sums_equal_those_of_python_decimal_to_the_last_digit(
    cast: Cast, rows: list[tuple[date, Decimal, str | None]]
) -> None:
    store(cast.account, [line(day, cost, service=service) for day, cost, service in rows])
    expected: dict[str | None, Decimal] = defaultdict(Decimal)
    with localcontext(prec=60):  # Python's own 28 digits would round
        for _, cost, service in rows:
            expected[service] += cost
        everything = sum(expected.values())
    assert as_dict(run_query(cast.account, billed_by("service"))) == expected
    assert total(cast.account) == everything


def test_only_the_requested_days_count(cast: Cast) -> None:
    store(cast.account, [line(JANUARY + timedelta(days=day), 10**day) for day in range(10)])
    assert total(cast.account, JANUARY + timedelta(days=2), JANUARY + timedelta(days=4)) == 11100


def test_days_outside_the_billing_month_are_found(cast: Cast) -> None:
    store(cast.account, [line(date(2025, 12, 31), 5), line(JANUARY, 7)], month=JANUARY)
    assert total(cast.account, date(2025, 12, 1), date(2025, 12, 31)) == 5


def test_months_and_sources_add_up(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(FEBRUARY, 2)], month=FEBRUARY)
    store(cast.account, [line(FEBRUARY, 4)], month=FEBRUARY, source_id=2)
    by_month = run_query(
        cast.account,
        lambda cost: cost.group_by(key=cost.charge_date.truncate("M")).agg(total=cost.billed_cost.sum()),
    )
    assert as_dict(by_month) == {JANUARY: 1, FEBRUARY: 6}


def test_an_account_without_facts_gets_a_typed_empty_answer(cast: Cast) -> None:
    table = engine.run(cast.account, Kind.COST, *EVER, billed_by("service"))
    assert table.schema == pa.schema([("key", pa.string()), ("total", schema.MONEY)])
    assert table.num_rows == 0
    assert total(cast.account) is None


def test_the_answer_has_the_types_of_the_expression(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2"), line(JANUARY, 2, service="S3")])
    table = engine.run(
        cast.account,
        Kind.COST,
        *EVER,
        lambda cost: cost.group_by(week=cost.charge_date.truncate("W")).agg(
            lines=cost.count(),
            services=cost.service.nunique(),
            ones=ibis.cases((cost.service == "S3", 1), else_=0).sum(),
            most=cost.billed_cost.max(),
            any_s3=(cost.service == "S3").any(),
        ),
    )
    assert table.schema.types == [pa.date32(), pa.int64(), pa.int64(), pa.int64(), schema.MONEY, pa.bool_()]
    assert table.to_pylist()[0] == {
        "week": date(2025, 12, 29),
        "lines": 2,
        "services": 2,
        "ones": 1,
        "most": Decimal(2),
        "any_s3": True,
    }


def test_tag_keys_that_differ_in_case_stay_separate(cast: Cast) -> None:
    store(
        cast.account,
        [line(JANUARY, 1, tags={"Env": "a", "env": "b"}), line(JANUARY, 2, tags={"env": "a"})],
    )
    keys = ["Env", "env"]
    assert as_dict(run_query(cast.account, billed_by(schema.tag_column("Env")), tag_keys=keys)) == {
        "a": 1,
        None: 2,
    }
    assert as_dict(run_query(cast.account, billed_by(schema.tag_column("env")), tag_keys=keys)) == {
        "b": 1,
        "a": 2,
    }
    assert queries.tag_keys(cast.account) == ["Env", "env"]


def test_a_tag_that_only_some_months_have_is_null_in_the_others(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, tags={"team": "web"})])
    store(cast.account, [line(FEBRUARY, 2)], month=FEBRUARY)
    assert as_dict(run_query(cast.account, billed_by("tag:team"), tag_keys=["team"])) == {"web": 1, None: 2}


def test_a_tag_that_nothing_has_is_null_everywhere(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    assert as_dict(run_query(cast.account, billed_by("tag:team"), tag_keys=["team"])) == {None: 1}


@pytest.mark.parametrize("key", ["a b", 'qu"ote', "sla/sh\\", "it's", "*", "日本", "a.b", "", "NULL", "a\tb"])
def test_any_tag_key_can_be_asked(cast: Cast, key: str) -> None:
    store(cast.account, [line(JANUARY, 1, tags={key: "x"})])
    store(cast.account, [line(FEBRUARY, 2)], month=FEBRUARY)
    assert as_dict(run_query(cast.account, billed_by(schema.tag_column(key)), tag_keys=[key])) == {
        "x": 1,
        None: 2,
    }


HOSTILE = [
    "'",
    "''",
    "\\",
    "\\'",
    '"',
    "'; DROP TABLE cost; --",
    "') OR 1=1 --",
    "$$",
    "%_",
    "{{x}}",
    "\n",
    "é\U0001f4b8",
    "?",
    "$1",
    "/*",
    "E'\\x27'",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_filter_value_is_only_a_value(cast: Cast, text: str) -> None:
    store(cast.account, [line(JANUARY, 1, service=text), line(JANUARY, 2, service="other")])

    def sum_where(condition: Any) -> Decimal:
        total: Decimal = run_query(
            cast.account, lambda cost: cost.filter(condition).agg(t=cost.billed_cost.sum())
        )[0]["t"]
        return total

    column = engine.cost_table().service
    assert sum_where(column == text) == 1
    assert sum_where(column.isin([text, "nothing"])) == 1
    assert sum_where(column.contains(text)) == 1
    assert sum_where(column.startswith(text)) == 1
    assert sum_where(column.lower() == text.lower()) == 1
    assert sum_where(~column.isin([text])) == 2


@given(text=st.text())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None
)
def test_any_text_is_found_again_by_an_equal_filter(cast: Cast, text: str) -> None:
    store(cast.account, [line(JANUARY, 1, service=text), line(JANUARY, 2, service=None)])
    outcome = ask_or_message(cast, text)
    assert outcome == ("A filter value contains a NUL" if "\x00" in text else 1)


def ask_or_message(cast: Cast, text: str) -> Decimal | str:
    try:
        rows = run_query(
            cast.account, lambda cost: cost.filter(cost.service == text).agg(total=cost.billed_cost.sum())
        )
    except UserError as error:
        return error.message[:29]
    total: Decimal = rows[0]["total"]
    return total


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_text_that_no_cost_line_can_hold_is_refused(cast: Cast, text: str) -> None:
    with pytest.raises(UserError, match="filter value"):
        run_query(cast.account, lambda cost: cost.filter(cost.service == text))


def test_an_account_sees_its_own_facts_only(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.other_account, [line(JANUARY, 2)])
    assert total(cast.account) == 1
    assert total(cast.other_account) == 2


def test_every_live_file_of_an_account_is_in_its_own_folder(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.other_account, [line(JANUARY, 2)])
    for account in (cast.account, cast.other_account):
        files = queries.segment_files(account, Kind.COST, *EVER, ["service"])
        assert [file.path.split("/")[0] for file in files] == [str(account.pk)]


def test_the_statement_of_an_account_names_its_own_files_only(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        store(account, [line(JANUARY, 1)])
        store(account, [line(FEBRUARY, 1)], month=FEBRUARY)
    for account in (cast.account, cast.other_account):
        query = compile_query(Kind.COST, billed_by("service"))
        files = queries.segment_files(account, Kind.COST, *EVER, query.needed)
        sql = query.sql(engine._local(files, time.monotonic() + 10), *EVER)
        assert re.findall(r"/lake/(\d+)/cost/", sql) == [str(account.pk)] * 2


def test_retired_and_unswapped_files_do_not_count(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(JANUARY, 2)])
    assert total(cast.account) == 2
    segments.retire_source(account=cast.account, kind=Kind.COST, source_id=1)
    assert total(cast.account) is None


def test_a_passed_deadline_stops_before_any_statement(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    with pytest.raises(engine.LakeTimeout, match="fewer days"):
        run_query(cast.account, billed_by("service"), deadline=time.monotonic())


def test_a_query_is_interrupted_at_its_deadline(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, number) for number in range(20_000)])

    def slow_query(cost: Any) -> Any:
        pairs = cost.cross_join(cost.view()).filter(
            lambda pair: pair.billed_cost + pair.billed_cost_right < 0
        )
        return pairs.agg(lines=pairs.count())

    start = time.monotonic()
    with pytest.raises(engine.LakeTimeout, match="fewer days"):
        run_query(cast.account, slow_query, deadline=start + 0.3)
    assert time.monotonic() - start < 20  # what it would have by default
    assert total(cast.account) == sum(range(20_000))


@pytest.mark.parametrize(
    "sql", ["SELECT count(*) FROM range(1000000000000)", "SELECT range FROM range(1000000000000)"]
)
def test_a_stream_is_interrupted_at_the_end_of_its_task(sql: str) -> None:
    """Before its first batch, and after it."""
    with (
        pytest.raises(engine.LakeTimeout, match="The query timed out"),
        limit_time(0.3),
        engine.read_batches([], lambda _files: sql, account=None) as batches,
    ):
        for _batch in batches:
            pass


@contextmanager
def taken_slots(*accounts: int) -> Iterator[None]:
    """Queries of these accounts run during the block."""
    slots = lake_duckdb.instance().slots
    for account_id in accounts:
        slots.acquire(account_id, 0)
    try:
        yield
    finally:
        for account_id in accounts:
            slots.release(account_id)


def test_waiting_for_other_queries_counts_against_the_deadline(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    total(cast.account)
    every = range(-1, -1 - lake_duckdb.instance().slots.size, -1)
    with taken_slots(*every), pytest.raises(engine.LakeBusy, match="Try again"):
        run_query(cast.account, billed_by("service"), deadline=time.monotonic() + 2)
    assert total(cast.account) == 1


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_tenant_with_many_queries_leaves_a_slot_to_another(
    cast: Cast, settings: Settings, concurrency: int, tmp_path: Path
) -> None:
    settings.LAKE_CONCURRENCY, settings.LAKE_URL = concurrency, str(tmp_path)
    store(cast.account, [line(JANUARY, 1)])
    store(cast.other_account, [line(JANUARY, 2)])
    with taken_slots(*[cast.other_account.pk] * concurrency):
        with pytest.raises(Busy):
            lake_duckdb.instance().slots.acquire(cast.other_account.pk, 0)
        assert total(cast.account) == 1


def test_a_missing_file_is_a_clear_error(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    storage().delete(LakeSegment.objects.unscoped().get(account=cast.account).path)
    with pytest.raises(engine.LakeUnavailable, match="cannot be read right now"):
        total(cast.account)


def test_a_damaged_file_is_a_clear_error(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    segment = LakeSegment.objects.unscoped().get(account=cast.account)
    Path(storage().local(segment.path, segment.checksum)).write_bytes(b"PAR1 no more")
    with pytest.raises(engine.LakeUnavailable, match="import the affected month again; the server log"):
        total(cast.account)


def test_a_file_that_a_newer_manifest_replaced_is_no_error(cast: Cast) -> None:
    """The expression is built once the query begins; the old file vanishes and a new one counts before it runs."""
    store(cast.account, [line(JANUARY, 1)])
    old_path = LakeSegment.objects.unscoped().get(account=cast.account).path
    reads = 0

    def swap_before_read(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal reads
        answer = execute(sql, params, many, context)
        if "checksum" in sql and not reads:
            reads += 1
            later.append(threading.Thread(target=storage().delete, args=[old_path]))
            later[0].start()
            later[0].join()
            LakeSegment.objects.unscoped().filter(path=old_path).update(retired_at="2026-01-01T00:00:00Z")
            fresh = segments_of(cast, 2)
            segments.swap_segments(
                account=cast.account, kind=Kind.COST, source_id=1, months=[JANUARY], new=[fresh]
            )
        return answer

    later: list[threading.Thread] = []
    with connection.execute_wrapper(swap_before_read):
        assert total(cast.account) == 2
    assert reads == 1


def segments_of(cast: Cast, cost: int) -> segments.NewSegment:
    from tests.finops.lake.facts import write

    return write(cast.account, [line(JANUARY, cost)])


def test_the_engine_reads_the_lake_and_nothing_else(cast: Cast, tmp_path: Path) -> None:
    store(cast.account, [line(JANUARY, 1)])
    total(cast.account)
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    raw = lake_duckdb.instance().connection.cursor()
    for statement in (
        f"SELECT * FROM read_csv('{secret}')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/other.db'",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            raw.execute(statement)


def test_too_large_a_query_gets_advice(cast: Cast, settings: Settings, tmp_path: Path) -> None:
    settings.LAKE_URL = str(tmp_path / "small")
    settings.LAKE_MEMORY_BYTES = 64 * 2**20
    store(cast.account, [line(JANUARY, number, resource_id=f"{number}" * 40) for number in range(30_000)])

    def large(cost: Any) -> Any:
        pairs = cost.cross_join(cost.view())
        return pairs.group_by(key=pairs.resource_id, other=pairs.resource_id_right).agg(n=pairs.count())

    with pytest.raises((engine.LakeTooLarge, engine.LakeTimeout), match="fewer"):
        run_query(cast.account, large)


def test_a_forked_child_has_an_engine_of_its_own(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    total(cast.account)
    own_instance = lake_duckdb.instance()
    child = os.fork()
    if child == 0:  # pragma: no cover
        fresh = lake_duckdb.instance() is not own_instance
        answer = lake_duckdb.instance().execute("SELECT 41 + 1 AS n", time.monotonic() + 10)["n"][0].as_py()
        os._exit(0 if fresh and answer == 42 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert total(cast.account) == 1


@pytest.mark.django_db(transaction=True)
def test_eight_threads_asking_for_two_accounts_get_their_own_answers(cast: Cast) -> None:
    for factor, account in ((1, cast.account), (1_000, cast.other_account)):
        store(account, [line(JANUARY, number * factor, service=f"s{number % 7}") for number in range(2_000)])
    expected = {
        account.pk: {
            f"s{remainder}": sum(n * factor for n in range(2_000) if n % 7 == remainder)
            for remainder in range(7)
        }
        for factor, account in ((1, cast.account), (1_000, cast.other_account))
    }

    def is_right(number: int) -> bool:
        account = cast.account if number % 2 else cast.other_account
        try:
            return as_dict(run_query(account, billed_by("service"))) == expected[account.pk]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(is_right, range(160))) == [True] * 160
