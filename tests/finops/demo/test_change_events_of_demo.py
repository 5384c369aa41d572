"""The back-test of candidates on the demo's story: how often the event behind a surprise is the first of its candidates."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent, EventMonth
from finops.connections.models import CostSync
from finops.costs.queries.sources import load_sources
from finops.costs.spend_query import CostFilter
from finops.demo.change_events import BEHIND
from finops.demo.scenario import DemoAnomaly, anomalies
from finops.insights.actor_coverage import actor_coverage
from finops.insights.anomalies.queries import list_anomalies
from finops.insights.anomalies.schemas import AnomaliesQuery, AnomalyRow
from finops.insights.cost_scope import CostReader
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery
from tests.finops.demo.test_load_demo import TODAY, load, own_var

__all__ = ["own_var"]

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def place(titles: list[str], title: str) -> int:
    """From 1; 0 where it is not among them."""
    return titles.index(title) + 1 if title in titles else 0


def place_beside_anomaly(rows: list[AnomalyRow], one: DemoAnomaly) -> int | None:
    """None for a surprise that was not found as an anomaly of its service."""
    events_of_anomaly = [
        row
        for row in rows
        if row.value == one.service and row.first_day <= one.end and row.last_day >= one.start
    ]
    if not events_of_anomaly:
        return None
    return place([each.title for each in events_of_anomaly[0].candidates], BEHIND[one.name][1])


def place_beside_change(account: Account, one: DemoAnomaly, *filters: CostFilter) -> int:
    """Of the days of the surprise against the same days a week earlier."""
    week = timedelta(days=7)
    answer = explain_spend_change(
        account,
        SpendChangeQuery(
            start_date=one.start,
            end_date=one.end,
            previous_start_date=one.start - week,
            previous_end_date=one.end - week,
            basis="amortized",
            charge_categories=["Usage"],
            filters=list(filters),
        ),
    )
    return place([each.title for each in answer.candidates], BEHIND[one.name][1])


def place_within_service(account: Account, one: DemoAnomaly) -> int:
    return place_beside_change(account, one, CostFilter(dimension="service", values=[one.service]))


def all_anomalies(account: Account) -> list[AnomalyRow]:
    return list_anomalies(account, AnomaliesQuery(status="all", limit=50)).anomalies


def test_the_spike_of_last_week_has_its_event_first() -> None:
    load(months=3)
    account = Account.objects.get(slug="lumenly")
    with account_scope(account):
        anomaly = next(
            each for each in anomalies(date(2026, 11, 9), date(2026, 11, 19)) if each.name == "forgotten-gpu"
        )

        assert place_beside_anomaly(all_anomalies(account), anomaly) == 1
        assert place_within_service(account, anomaly) == 1

        assert synced_sources() == {"GitHub (replay)": "done", "AWS CloudTrail (replay)": "done"}
        (aws,) = [
            each
            for each in actor_coverage(CostReader(account, load_sources(account)))
            if each.provider == "AWS"
        ]
        assert aws.share is not None
        assert aws.share >= Decimal("0.6")
        stored = ChangeEvent.objects.count()
        assert metered_counts() == (stored, 0)
    load(months=3)
    with account_scope(account):
        assert ChangeEvent.objects.count() == stored
        assert metered_counts() == (stored, 0)


def synced_sources() -> dict[str, str]:
    """By the name of the event source, the status of its newest sync."""
    rows = CostSync.objects.filter(connection__event_source__isnull=False).order_by("pk")
    return dict(rows.values_list("connection__event_source__name", "status"))


def metered_counts() -> tuple[int, int]:
    """Events and duplicates of all sources."""
    months = EventMonth.objects.all()
    return sum(each.events for each in months), sum(each.duplicates for each in months)


@pytest.mark.long
def test_the_event_behind_a_surprise_of_the_story_is_mostly_first() -> None:
    load(months=10)
    account = Account.objects.get(slug="lumenly")
    with account_scope(account):
        march = SpendChangeQuery(start_date=date(2026, 3, 1), end_date=date(2026, 3, 31), basis="billed")
        first = explain_spend_change(account, march).candidates[0]
        rows = all_anomalies(account)
        story = anomalies(date(2026, 3, 1), TODAY.date())
        beside = [place_beside_anomaly(rows, item) for item in story]
        within = [place_within_service(account, item) for item in story]
        whole = [place_beside_change(account, item) for item in story]

    assert first.title == "Renewed db.r6g.2xl 1yr All Upfront"
    places = [each for each in beside if each is not None]
    assert places.count(1) / len(places) >= 0.8
    assert within.count(1) / len(within) >= 0.9
    assert whole.count(1) / len(whole) >= 0.8
