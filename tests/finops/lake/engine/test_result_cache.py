"""Cached results and manifests: the same as computing again, for every reader and at every time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from accounts.models import Account
from finops.lake import queries
from finops.lake.engine import engine
from finops.lake.engine.compiler import compile_query
from finops.lake.engine.result_cache import QueryResultCache, ResultKey
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.manifest import cost_manifest
from finops.lake.storage.storage import storage
from finops.lake.usage import inbox
from finops.lake.usage.inbox import InboxEvent
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, billed_by, line, run_query, store, total

pytestmark = pytest.mark.django_db


def lose_files(account: Account) -> None:
    """What is answered afterwards was not read again."""
    for segment in LakeSegment.objects.unscoped().filter(account=account):
        storage().delete(segment.path)


def test_a_repeated_query_reads_no_file(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    first = run_query(cast.account, billed_by("service"))
    lose_files(cast.account)
    assert run_query(cast.account, billed_by("service")) == first


def test_another_question_does(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    run_query(cast.account, billed_by("service"))
    lose_files(cast.account)
    for build, days in ((billed_by("region"), EVER), (billed_by("service"), (JANUARY, FEBRUARY))):
        with pytest.raises(engine.LakeUnavailable):
            engine.run(cast.account, Kind.COST, *days, build)


def test_an_equal_question_of_another_account_gets_that_accounts_answer(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.other_account, [line(JANUARY, 2)])
    for _ in range(2):
        assert total(cast.account) == 1
        assert total(cast.other_account) == 2


def test_usage_that_waits_is_counted_again_and_usage_in_files_is_kept(cast: Cast) -> None:
    moment = datetime(2026, 1, 5, tzinfo=UTC)

    def push(quantity: int) -> None:
        event = InboxEvent(0, moment, "c1", "requests", None, Decimal(quantity), None)
        inbox.append(account=cast.account, source_id=1, batch=uuid4(), received_at=moment, events=[event])

    def usage_total() -> Decimal | None:
        table = engine.run(
            cast.account, Kind.USAGE, *EVER, lambda usage: usage.aggregate(total=usage.quantity.sum())
        )
        total: Decimal | None = table["total"][0].as_py()
        return total

    assert usage_total() is None
    for pushed, expected in ((1, 1), (2, 3), (4, 7)):
        push(pushed)
        assert usage_total() == usage_total() == expected


def test_a_manifest_of_another_account_is_refused(cast: Cast) -> None:
    with pytest.raises(ValueError, match="another account"):
        run_query(cast.account, billed_by("service"), manifest=cost_manifest(cast.other_account))


changes = st.lists(
    st.tuples(st.sampled_from(["mine", "theirs"]), st.integers(1, 2), st.sampled_from([JANUARY, FEBRUARY]),
              st.integers(0, 3)),
    max_size=8,
)  # fmt: skip


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(25), deadline=None
)
@given(changes=changes)
def test_whatever_is_swapped_the_answers_and_keys_are_those_of_now(
    cast: Cast, changes: list[tuple[str, int, date, int]]
) -> None:
    accounts = {"mine": cast.account, "theirs": cast.other_account}
    for account in accounts.values():
        for source in (1, 2):
            segments.retire_source(account=account, kind=Kind.COST, source_id=source)
    costs: dict[tuple[str, int, date], int] = {}
    for account_name, source, month, cost in changes:
        rows = [line(month, cost, tags={f"key{cost}": "x"})] if cost else []
        store(accounts[account_name], rows, source_id=source, month=month)
        costs[account_name, source, month] = cost
        for name, account in accounts.items():
            own_costs = [cost for (owner, *_), cost in costs.items() if owner == name and cost]
            assert total(account) == (sum(own_costs, Decimal(0)) if own_costs else None)
            assert queries.tag_keys(account) == sorted({f"key{cost}" for cost in own_costs})
            assert sum(each.rows for each in cost_manifest(account).segments) == len(own_costs)


def test_a_manifest_is_read_again_only_after_a_change(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    manifest = cost_manifest(cast.account)
    with CaptureQueriesContext(connection) as statements:
        assert cost_manifest(cast.account) is manifest
    assert len(statements) == 1
    store(cast.account, [line(JANUARY, 2)])
    assert cost_manifest(cast.account).segments != manifest.segments


def test_a_rolled_back_swap_leaves_no_trace(cast: Cast) -> None:
    from django.db import transaction

    store(cast.account, [line(JANUARY, 1)])
    assert total(cast.account) == 1
    with transaction.atomic():
        store(cast.account, [line(JANUARY, 2)])
        assert total(cast.account) == 2
        transaction.set_rollback(True)
    assert total(cast.account) == 1


def test_nothing_is_cached_without_memory(cast: Cast, settings: Settings) -> None:
    settings.LAKE_ANSWERS_BYTES = 0
    store(cast.account, [line(JANUARY, 1)])
    assert total(cast.account) == 1
    lose_files(cast.account)
    with pytest.raises(engine.LakeUnavailable):
        total(cast.account)


def question(name: str) -> ResultKey:
    build: Callable[[Any], Any] = billed_by("service")
    return ResultKey.of(Path("/lake"), compile_query(Kind.COST, build), [name], JANUARY, FEBRUARY)


def test_the_least_recently_used_answer_is_evicted_first() -> None:
    cache, table = QueryResultCache(), pa.table({"amount": [1, 2, 3]})
    max_bytes = 20 * (question("a").bytes + table.get_total_buffer_size())
    names = [f"file {index}" for index in range(30)]
    for name in names:
        cache.put(question(name), table, max_bytes)
        cache.get(question("file 0"))
    cached_names = [name for name in names if cache.get(question(name)) is not None]
    assert cached_names[0] == "file 0"
    assert cached_names[1:] == names[-len(cached_names) + 1 :]
    assert 10 < len(cached_names) <= 20


def test_an_answer_larger_than_its_share_of_the_cache_is_not_cached() -> None:
    cache, table = QueryResultCache(), pa.table({"amount": list(range(10_000))})
    cache.put(question("a"), table, max_bytes=table.get_total_buffer_size() * 4)
    assert cache.get(question("a")) is None
