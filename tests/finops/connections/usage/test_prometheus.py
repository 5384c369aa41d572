"""Prometheus as a usage source, from a server that answers as its API does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.lib import clock
from ingestion.queries import query_usage
from ingestion.usage_query import UsageQuery
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

VALUES = {"query": "sum by (tenant) (x)", "customer_label": "tenant", "metric": "requests", "token": "t0ken"}


def answer(request: ReplayRequest, label: str = "tenant") -> Reply:
    """Ten requests of acme a day, from the first of this month on."""
    if request.headers.get("authorization") != "Bearer t0ken":
        return Reply.of_json({"status": "error", "error": "no token"}, 401)
    start, end, step = (int(request.param(name)) for name in ("start", "end", "step"))
    first = datetime(NOON.year, NOON.month, 1, tzinfo=UTC).timestamp()
    values = [[at, "10.5"] for at in range(start, end + 1, step) if at > first]
    series = [{"metric": {label: "acme"}, "values": [*values, [end, "NaN"]]}] if values else []
    return Reply.of_json({"status": "success", "data": {"resultType": "matrix", "result": series}})


@pytest.mark.django_db(transaction=True)
def test_each_whole_day_is_stored_once_as_of_its_begin(cast: Cast, replay: ReplayServer) -> None:
    replay.routes["/api/v1/query_range"] = answer
    with clock.frozen(NOON), account_scope(cast.account):
        connection = services.create_connection(
            account=cast.account,
            actor=cast.actor,
            name="Prometheus",
            connector="prometheus",
            values={**VALUES, "url": replay.url},
        )
        first, again = sync_now(connection), sync_now(connection)
        query = UsageQuery(
            usage_metric="requests",
            start_date=NOON.date().replace(day=1),
            end_date=NOON.date() - timedelta(days=1),
        )
        quantity = query_usage(cast.account, query).quantity

    assert (first.status, first.error) == ("done", "")
    assert set(actions(again).values()) == {"unchanged"}
    assert quantity == Decimal("10.5") * (NOON.day - 1)


def test_the_check_names_a_missing_label(cast: Cast, replay: ReplayServer) -> None:
    replay.routes["/api/v1/query_range"] = lambda request: answer(request, "namespace")
    with clock.frozen(NOON):
        findings = services.check_config(
            account=cast.account, connector="prometheus", values={**VALUES, "url": replay.url}
        )

    assert [each.is_ok for each in findings] == [True, False]
    assert "sum by (tenant)" in findings[1].fix


def test_an_address_of_this_machine_is_refused(cast: Cast, replay: ReplayServer, settings: Settings) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []
    findings = services.check_config(
        account=cast.account, connector="prometheus", values={**VALUES, "url": replay.url}
    )

    assert not all(each.is_ok for each in findings)
    assert replay.requests == []
