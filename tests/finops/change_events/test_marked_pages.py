"""Change events on the charts of pages other than the cost explorer."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import CostTag
from finops.change_events.models import ChangeEvent
from finops.unitcosts.models import UnitMetric
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source
from tests.factories.dashboards import create_board, widget
from tests.factories.usage import event, push_events
from tests.finops.insights.anomalies.bills import SPIKE, bill, run_detection, with_extra

DAYS = {"start_date": str(SPIKE - timedelta(days=3)), "end_date": str(SPIKE + timedelta(days=3))}


@pytest.fixture
def acme(cast: Cast) -> Account:
    """Cost with a spike in Compute; a deployment of Compute on its day, and an incident of another service."""
    with account_scope(cast.account):
        add_source(cast.account, bill(with_extra(SPIKE, SPIKE + timedelta(days=1), "300")))
        add_event("checkout v142", SPIKE, service="Compute")
        add_event("Storage is slow", SPIKE, kind="incident", service="Storage")
    return cast.account


def add_event(title: str, day: date, *, kind: str = "deployment", service: str) -> None:
    ChangeEvent.objects.create(
        origin="note",
        kind=kind,
        title=title,
        occurred_at=datetime(day.year, day.month, day.day, 9, tzinfo=UTC),
        scope={"service": [service]},
    )


def markers_of_charts(cast: Cast, path: str, **params: str) -> list[list[dict[str, Any]]]:
    """By chart of the page."""
    answer = signed_in(cast.viewer).get(f"/a/{cast.account.slug}/{path}", params)
    assert answer.status_code == 200
    specs = re.findall(r'data-chart="([^"]*)"', answer.content.decode())
    return [json.loads(html.unescape(spec)).get("markers", []) for spec in specs]


def marker(*events: tuple[str, str], label: str = str(SPIKE)) -> dict[str, Any]:
    return {
        "label": label,
        "events": [{"kind": kind, "titles": [title], "count": 1} for kind, title in events],
    }


DEPLOYMENT, INCIDENT = ("Deployment", "checkout v142"), ("Incident", "Storage is slow")


def test_an_anomaly_has_the_events_of_its_service(cast: Cast, acme: Account) -> None:
    with account_scope(acme):
        (anomaly,) = run_detection(acme)

    (markers,) = markers_of_charts(cast, f"anomalies/{anomaly.key}/")

    assert markers == [marker(DEPLOYMENT)]


def test_a_widget_has_the_events_of_its_filters_and_the_board_a_switch_by_kind(
    cast: Cast, acme: Account
) -> None:
    narrow: dict[str, Any] = {"filters": [{"dimension": "service", "values": ["Compute"]}]}
    with account_scope(acme):
        board = create_board(
            acme, "Weekly", widget("spend_over_time"), widget("spend_over_time", None, **narrow)
        )
        first, second = board.widgets.order_by("pk").values_list("pk", flat=True)

    (all_events,) = markers_of_charts(cast, f"dashboards/widgets/{first}/", **DAYS)
    (own_events,) = markers_of_charts(cast, f"dashboards/widgets/{second}/", **DAYS)
    page = signed_in(cast.viewer).get(f"/a/{acme.slug}/dashboards/{board.pk}/").content.decode()

    assert (all_events, own_events) == ([marker(DEPLOYMENT, INCIDENT)], [marker(DEPLOYMENT)])
    assert re.findall(r'data-marker-kind="(\w+)"', page) == ChangeEvent.Kind.labels


def test_a_board_without_events_has_no_switch(cast: Cast, acme: Account) -> None:
    with account_scope(acme):
        board = create_board(acme, "Weekly", widget("spend_over_time"))
        ChangeEvent.objects.all().delete()

    assert (
        b"data-chart-markers"
        not in signed_in(cast.viewer).get(f"/a/{acme.slug}/dashboards/{board.pk}/").content
    )


def test_unit_cost_has_the_events_of_its_cost_filters(cast: Cast, acme: Account) -> None:
    days = [SPIKE + timedelta(days=index) for index in range(-3, 4)]
    with account_scope(acme):
        push_events(acme, [event(day, "globex", "10", metric="requests") for day in days])
        UnitMetric.objects.create(
            name="Per request",
            usage_metric="requests",
            filters=[{"dimension": "service", "op": "in", "values": ["Compute"]}],
        )
        board = create_board(
            acme, "Weekly", widget("unit_cost", unit_metric="Per request", granularity="day")
        )
        shown = board.widgets.get().pk
    question = {**DAYS, "usage_metric": "requests", "granularity": "day"}

    charts = markers_of_charts(cast, "unit-economics/", **question)
    (of_widget,) = markers_of_charts(cast, f"dashboards/widgets/{shown}/", **DAYS)

    assert charts == [[marker(DEPLOYMENT, INCIDENT)]] * 3
    assert of_widget == [marker(DEPLOYMENT)]


def test_a_cost_tag_has_events_on_its_chart(cast: Cast, acme: Account) -> None:
    with account_scope(acme):
        tag = CostTag.objects.create(key="env", rules=[])

    (markers,) = markers_of_charts(cast, f"cost-tags/{tag.pk}/", **DAYS, granularity="week")

    assert markers == [marker(DEPLOYMENT, INCIDENT, label="2026-03-09")]
