"""A reader with limited cost access: what the lake answers is what it would answer without the other lines."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import ibis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.lake import queries
from finops.lake.engine import engine
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.rollups import rollup_scheduler
from finops.lake.schema import Kind, tag_column
from finops.lake.storage import segments
from finops.lake.storage.manifest import cost_manifest
from finops.lib import cost_access
from finops.lib.cost_access import CostLimit, NoCostAccess, no_decision
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, billed_by, line, run_query, store, total

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class HasFilter:
    """Lines with this value in a column, twice looked at so that Ibis shares a table expression."""

    column: str
    value: str

    def __call__(self, table: Any) -> Any:
        return table[self.column].lower() == ibis.literal(self.value).lower()


def limit(column: str, value: str, *tag_keys: str) -> CostLimit:
    return CostLimit(f"{column} {value}", HasFilter(column, value), tag_keys)


CORE = limit(tag_column("team"), "core", "team")


def lines() -> list[dict[str, Any]]:
    return [
        line(JANUARY, 1, service="EC2", tags={"team": "core", "env": "prod"}),
        line(JANUARY.replace(day=9), 2, service="S3", tags={"team": "data", "secret": "x"}),
        line(JANUARY.replace(day=20), 4, service="EC2", tags={"team": "core", "owner": "me"}),
        line(JANUARY.replace(day=31), 8, service="EC2"),
    ]


def test_a_question_sees_the_lines_within_the_limit_alone(cast: Cast) -> None:
    store(cast.account, lines())
    with cost_access.cost_access(CORE):
        assert total(cast.account) == 5
        assert run_query(cast.account, lambda cost: cost.select("service").distinct()) == [{"service": "EC2"}]
    assert total(cast.account) == 15


def test_answers_of_two_limits_and_of_none_are_kept_separate(cast: Cast) -> None:
    store(cast.account, lines())
    for _ in range(2):
        for cost_limit, expected in ((CORE, 5), (None, 15), (limit("service", "s3"), 2)):
            with cost_access.cost_access(cost_limit):
                assert total(cast.account) == expected


def test_a_limit_by_what_no_file_has_leaves_nothing(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    with cost_access.cost_access(CORE):
        assert total(cast.account) is None
        assert cost_manifest(cast.account).segments == ()


def test_an_expression_with_shared_tables_stays_within_the_limit(cast: Cast) -> None:
    store(cast.account, lines())

    def build(cost: Any) -> Any:
        sums = cost.group_by("service").aggregate(total=cost.billed_cost.sum())
        return sums.inner_join(sums.view(), "service").select("service", "total")

    with cost_access.cost_access(CORE):
        assert run_query(cast.account, build) == [{"service": "EC2", "total": Decimal(5)}]


def test_a_question_that_passes_on_every_column_stays_within_the_limit(cast: Cast) -> None:
    store(cast.account, lines())
    with cost_access.cost_access(CORE):
        rows = run_query(cast.account, lambda cost: cost.mutate(extra=ibis.literal(1)), tag_keys=["team"])
    assert sorted(row["billed_cost"] for row in rows) == [1, 4]


def test_the_manifest_has_days_rows_and_keys_of_lines_within_the_limit(cast: Cast) -> None:
    store(cast.account, lines())
    store(cast.account, [line(FEBRUARY, 1, tags={"team": "data"})], month=FEBRUARY)
    with cost_access.cost_access(CORE):
        manifest = cost_manifest(cast.account)
        assert manifest is cost_manifest(cast.account)
        (part,) = manifest.segments
        assert (part.first_day, part.last_day, part.rows) == (JANUARY, JANUARY.replace(day=20), 2)
        assert queries.tag_keys(cast.account) == ["env", "owner", "team"]
    assert len(cost_manifest(cast.account).segments) == 2
    assert queries.tag_keys(cast.account) == ["env", "owner", "secret", "team"]


def test_the_manifest_follows_what_is_stored(cast: Cast) -> None:
    store(cast.account, lines())
    with cost_access.cost_access(CORE):
        assert len(cost_manifest(cast.account).segments) == 1
        store(cast.account, [line(FEBRUARY, 1, tags={"team": "Core", "new": "1"})], month=FEBRUARY)
        assert len(cost_manifest(cast.account).segments) == 2
        assert "new" in queries.tag_keys(cast.account)


def test_a_rollup_without_a_column_of_the_limit_is_not_read(cast: Cast) -> None:
    rows = [line(JANUARY, 1, service="EC2", resource_id=f"i-{at % 2}", account_id="1") for at in range(200)]
    store(cast.account, rows)
    (segment,) = LakeSegment.objects.unscoped().filter(account=cast.account)
    rollup_scheduler.roll_up_account(cast.account, least_rows=1)
    assert LakeRollup.objects.unscoped().filter(segment=segment).exists()
    for cost_limit, expected in ((limit("resource_id", "i-1"), 100), (limit("account_id", "1"), 200)):
        with cost_access.cost_access(cost_limit):
            (row,) = run_query(
                cast.account, lambda cost: cost.aggregate(total=cost.billed_cost.sum()), allow_rollups=True
            )
            assert row["total"] == expected


def test_cost_is_refused_until_an_access_check_has_run(cast: Cast) -> None:
    with no_decision(), pytest.raises(NoCostAccess):
        total(cast.account)
    with no_decision(), cost_access.cost_access(None):
        assert total(cast.account) is None


def test_a_process_that_answers_requests_refuses_threads_without_a_decision(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_access, "_outside", cost_access._outside)
    cost_access.require_decisions()
    problems: list[Exception] = []

    def ask() -> None:
        try:
            cost_access.current_limit()
        except NoCostAccess as problem:
            problems.append(problem)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(problems) == 1


words = st.sampled_from(["a", "A", "b", ""])
bills = st.lists(
    st.builds(
        lambda day, cost, service, team: line(
            JANUARY.replace(day=day),
            cost,
            **({"service": service} if service else {}),
            tags={"team": team} if team else {},
        ),
        st.integers(1, 28),
        st.integers(-5, 5),
        words,
        words,
    ),
    max_size=12,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None
)
@given(bill=bills, column=st.sampled_from(["service", tag_column("team")]))
def test_any_bill_within_any_limit_answers_as_the_bill_of_those_lines(
    cast: Cast, bill: list[dict[str, Any]], column: str
) -> None:
    inside = [row for row in bill if str(row.get(column, "")).lower() == "a"]
    for account, rows in ((cast.account, bill), (cast.other_account, inside)):
        segments.retire_source(account=account, kind=Kind.COST, source_id=1)
        store(account, rows)
    with cost_access.cost_access(limit(column, "a", "team")):
        limited = answers(cast.account)
    assert limited == answers(cast.other_account)


def answers(account: Account) -> list[Any]:
    manifest = cost_manifest(account)
    days = [(each.source_id, each.first_day, each.last_day, each.rows) for each in manifest.segments]
    table = engine.run(account, Kind.COST, *EVER, billed_by("service"), allow_rollups=True)
    rows = sorted(table.to_pylist(), key=str)
    return [days, rows, total(account), list(queries.tag_keys(account))]
