"""Candidates among change events for anomalies and changes of spend, and their order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.change_events.ranking import ScopeCost, time_share
from finops.costs.spend_query import CostFilter
from finops.insights.anomalies.queries import list_anomalies
from finops.insights.anomalies.schemas import AnomaliesQuery
from finops.insights.models import Anomaly
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery
from finops.lib.cost_access import CostLimit, cost_access
from finops.lib.periods import DateRange
from tests.cast import Cast
from tests.factories.costs import add_source
from tests.finops.insights.anomalies.bills import SPIKE, bill, run_detection, with_extra

WEEK = DateRange(SPIKE, SPIKE + timedelta(days=6))
BEFORE = DateRange(SPIKE - timedelta(days=7), SPIKE - timedelta(days=1))
QUERY: dict[str, Any] = {
    "start_date": WEEK.start,
    "end_date": WEEK.end,
    "previous_start_date": BEFORE.start,
    "previous_end_date": BEFORE.end,
}


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with account_scope(cast.account):
        yield cast.account


@pytest.fixture
def spike(acme: Account) -> Anomaly:
    """Compute costs 300 USD more on two days, in one region; Storage costs the same every day."""
    amount = with_extra(SPIKE, SPIKE + timedelta(days=1), "300")
    storage = bill(lambda day: 50, service="Storage", region="us-east-1")
    add_source(acme, [*bill(amount), *storage])
    (anomaly,) = run_detection(acme)
    return anomaly


def create_change_event(account: Account, title: str, day: date = SPIKE, **fields: Any) -> None:
    ChangeEvent.objects.create(
        account=account,
        title=title,
        origin="note",
        kind="deployment",
        occurred_at=datetime.combine(day, time(9), UTC),
        **fields,
    )


def beside_the_change(account: Account, **query: Any) -> list[str]:
    answer = explain_spend_change(account, SpendChangeQuery(**QUERY, **query))
    return [each.title for each in answer.candidates]


def beside_the_anomaly(account: Account, **query: Any) -> list[str]:
    (row,) = list_anomalies(account, AnomaliesQuery(status="all", **query)).anomalies
    return [each.title for each in row.candidates]


def test_the_event_of_the_scope_that_moved_on_the_day_it_moved_is_first(
    acme: Account, spike: Anomaly
) -> None:
    create_change_event(acme, "earlier", SPIKE - timedelta(days=4), scope={"service": ["Compute"]})
    create_change_event(acme, "right", scope={"service": ["Compute"]})
    create_change_event(acme, "of all cost")
    create_change_event(acme, "of what stayed", scope={"service": ["Storage"]})
    create_change_event(acme, "long ago", SPIKE - timedelta(days=30), scope={"service": ["Compute"]})

    assert beside_the_change(acme)[:2] == ["right", "of all cost"]
    assert beside_the_anomaly(acme)[:2] == ["right", "earlier"]
    for candidates in (beside_the_change(acme), beside_the_anomaly(acme)):
        assert not {"of what stayed", "long ago"} & set(candidates)


def test_only_events_with_cost_within_the_filters_of_the_question_are_candidates(
    acme: Account, spike: Anomaly
) -> None:
    create_change_event(acme, "compute", scope={"service": ["Compute"]})
    create_change_event(acme, "elsewhere", scope={"service": ["Compute"], "region": ["us-east-1"]})

    assert beside_the_change(acme) == ["compute"]
    assert beside_the_change(acme, filters=[CostFilter(dimension="service", values=["Storage"])]) == []


def test_an_anomaly_of_a_scope_has_the_events_that_fit_it(acme: Account, spike: Anomaly) -> None:
    create_change_event(acme, "of the source", scope={"source": [spike.source.name], "service": ["Compute"]})
    create_change_event(acme, "of another source", scope={"source": ["Other"], "service": ["Compute"]})

    assert beside_the_anomaly(acme, cost_source=spike.source.name) == ["of the source"]


def test_an_event_of_a_dimension_that_is_gone_is_no_candidate(acme: Account, spike: Anomaly) -> None:
    create_change_event(acme, "gone", scope={"cost_tag:deleted": ["x"], "service": ["Compute"]})

    assert beside_the_change(acme) == []


def test_a_limited_reader_sees_candidates_of_what_her_limit_has_whole(acme: Account, spike: Anomaly) -> None:
    create_change_event(acme, "right", scope={"service": ["Compute"]})

    with cost_access(CostLimit("All", lambda table: table.service.notnull())):
        assert beside_the_change(acme) == []
    compute = frozenset({("service", "compute")})
    with cost_access(CostLimit("Compute", lambda table: table.service == "Compute", (), compute)):
        assert beside_the_change(acme) == ["right"]


def happen_often(account: Account, count: int, start: date, **fields: Any) -> None:
    """As many events, a second apart."""
    ChangeEvent.objects.bulk_create(
        ChangeEvent(
            account=account,
            title=f"{number}",
            origin="note",
            kind="deployment",
            occurred_at=datetime.combine(start, time(12), UTC) + timedelta(seconds=number),
            **fields,
        )
        for number in range(count)
    )


def test_events_nearest_to_the_change_are_evaluated_and_the_answer_says_that_others_are_not(
    acme: Account, spike: Anomaly
) -> None:
    create_change_event(acme, "right", scope={"service": ["Compute"]})
    happen_often(acme, 1_000, SPIKE + timedelta(days=3), scope={"service": ["Storage"]})

    answer = explain_spend_change(acme, SpendChangeQuery(**QUERY))

    assert [each.title for each in answer.candidates] == ["right"]
    sentence = f"These days have more than 2,000 change events: candidates are from the 1,000 before and the 1,000 after the start of {SPIKE}."
    assert sentence in answer.warnings
    ChangeEvent.objects.order_by("-occurred_at")[:1].get().delete()
    assert sentence not in explain_spend_change(acme, SpendChangeQuery(**QUERY)).warnings


def test_thousands_of_events_of_another_scope_hide_no_event_of_an_anomaly(
    acme: Account, spike: Anomaly
) -> None:
    name = spike.source.name
    create_change_event(acme, "right", scope={"source": [name], "service": ["Compute"]})
    happen_often(acme, 5_001, SPIKE, scope={"source": ["Other"], "service": ["Compute"]})

    answer = list_anomalies(acme, AnomaliesQuery(status="all", cost_source=name))

    assert [each.title for each in answer.anomalies[0].candidates] == ["right"]
    assert not any("change events are near" in each for each in answer.warnings)
    assert (
        "More than 5,000 change events are near these anomalies: candidates are from the newest 5,000."
        in list_anomalies(acme, AnomaliesQuery(status="all")).warnings
    )


def test_events_between_distant_anomalies_are_not_read(acme: Account) -> None:
    later = SPIKE + timedelta(days=20)
    amount = with_extra(SPIKE, SPIKE, "300")
    late = with_extra(later, later, "300")
    add_source(acme, bill(lambda day: max(amount(day), late(day)), last=later))
    run_detection(acme)
    create_change_event(acme, "first")
    create_change_event(acme, "second", later)
    happen_often(acme, 5_000, SPIKE + timedelta(days=8))

    rows = list_anomalies(acme, AnomaliesQuery(status="all")).anomalies

    assert {each.candidates[0].title for each in rows} == {"first", "second"}


days = st.integers(0, 60).map(lambda offset: SPIKE + timedelta(days=offset - 30))


@given(day=days)
def test_the_time_share_is_what_a_step_of_that_day_would_show(day: date) -> None:
    def mean(span: DateRange) -> Decimal:
        return (
            Decimal(sum(span.start + timedelta(days=index) >= day for index in range(span.days))) / span.days
        )

    assert time_share(day, WEEK, BEFORE) == max(0, mean(WEEK) - mean(BEFORE))


amounts = st.decimals(-1000, 1000, places=2)


@given(now=amounts, before=amounts, whole=amounts)
def test_a_fit_is_a_part_of_one(now: Decimal, before: Decimal, whole: Decimal) -> None:
    assert 0 <= ScopeCost(now, before, whole).fit <= 1
