"""Datadog metrics as a usage source, from a server that answers as its timeseries API does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostConnection
from finops.lib import clock
from ingestion.queries import query_usage
from ingestion.usage_query import UsageFilter, UsageQuery
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

DAY = 86_400_000
VALUES: dict[str, Any] = {
    "api_key": "0123456789abcdef0123456789abcdef",
    "app_key": "fedcba9876543210fedcba9876543210",
    "query": "sum:orders.created{*} by {tenant,region}.as_count()",
    "customer_tag": "tenant",
    "metric": "orders",
}


class DatadogApi:
    """`orders` of each series a day from the first of this month on; the answer has every interval of the request, null where
    there is no value."""

    def __init__(self, replay: ReplayServer) -> None:
        self.replay = replay
        self.first = int(datetime(NOON.year, NOON.month, 1, tzinfo=UTC).timestamp() * 1000)
        self.orders: dict[tuple[str, ...], float] = {
            ("tenant:acme", "region:eu"): 10.5,
            ("tenant:acme", "region:us"): 2,
            ("tenant:N/A", "region:eu"): 99,
        }
        self.shift = 0
        self.bodies: list[dict[str, Any]] = []
        replay.routes["/api/v2/query/timeseries"] = self._answer

    def _answer(self, request: ReplayRequest) -> Reply:
        if request.headers.get("dd-application-key") != VALUES["app_key"]:
            return Reply.of_json({"errors": ["Forbidden"]}, 403)
        request_attributes = json.loads(request.body)["data"]["attributes"]
        self.bodies.append(request_attributes)
        if request_attributes["queries"][0]["query"].startswith("broken"):
            return Reply.of_json({"data": None, "errors": "unable to parse query"})
        step = request_attributes["interval"]
        times = [
            at + self.shift
            for at in range(request_attributes["from"] // step * step, request_attributes["to"] + 1, step)
        ]
        values = [
            [amount * step / DAY if self.first <= at else None for at in times]
            for amount in self.orders.values()
        ]
        series = [
            {"group_tags": list(tags), "query_index": 0, "unit": [{"name": "order"}, None]}
            for tags in self.orders
        ]
        attributes = {"series": series, "times": times, "values": values}
        return Reply.of_json({"data": {"type": "timeseries_response", "attributes": attributes}})


@pytest.fixture
def api(replay: ReplayServer, settings: Settings) -> Iterator[DatadogApi]:
    settings.CONNECTOR_BASE_URLS = {"datadog": replay.url}
    with clock.frozen(NOON):
        yield DatadogApi(replay)


def connect(cast: Cast, **more: Any) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Datadog",
        connector="datadog",
        values={**VALUES, **more},
    )


def used_quantity(cast: Cast, **more: Any) -> Decimal | None:
    first, last = NOON.date().replace(day=1), NOON.date()
    with account_scope(cast.account):
        return query_usage(
            cast.account, UsageQuery(usage_metric="orders", start_date=first, end_date=last, **more)
        ).quantity


@pytest.mark.django_db(transaction=True)
def test_each_whole_day_is_stored_once_by_customer_and_tag(cast: Cast, api: DatadogApi) -> None:
    connection = connect(cast)
    with account_scope(cast.account):
        first, again = sync_now(connection), sync_now(connection)
        api.orders[("tenant:acme", "region:us")] = 3
        changed = sync_now(connection)
    whole_days = NOON.day - 1

    assert (first.status, first.error, first.rows) == ("done", "", 2 * whole_days)
    assert "1 series have no tag tenant and were left out." in str(first.periods)
    assert set(actions(again).values()) == {"unchanged"}
    assert list(actions(changed).values()).count("imported") == 1
    assert used_quantity(cast) == Decimal("13.5") * whole_days
    assert used_quantity(cast, filters=[UsageFilter(dimension="region", values=["us"])]) == 3 * whole_days
    assert {each["queries"][0]["data_source"] for each in api.bodies} == {"metrics"}


@pytest.mark.django_db(transaction=True)
def test_hours_are_read_in_windows_and_add_up(cast: Cast, api: DatadogApi) -> None:
    api.orders = {("tenant:acme",): 24, ("tenant:beta",): 12}
    connection = connect(cast, step="hour")
    with account_scope(cast.account):
        sync = sync_now(connection)
    hours = (NOON - NOON.replace(day=1, hour=0, minute=0, second=0, microsecond=0)) // timedelta(hours=1)

    assert (sync.status, sync.rows) == ("done", 2 * hours)
    assert used_quantity(cast) == Decimal("1.5") * hours
    assert max(each["to"] - each["from"] for each in api.bodies) < 4 * DAY


@pytest.mark.django_db(transaction=True)
def test_a_limit_and_a_fault_pass(cast: Cast, api: DatadogApi, sleeps: list[float]) -> None:
    connection = connect(cast)
    limit = Reply(429, b'{"errors":["Rate limit reached"]}', {"X-RateLimit-Reset": "7"})
    api.replay.faults = [limit, Reply(200, b'{"data": {', cut=0.5)]
    with account_scope(cast.account):
        sync = sync_now(connection)

    assert (sync.status, sync.error) == ("done", "")
    assert sum(sleeps) >= 7
    assert used_quantity(cast) == Decimal("12.5") * (NOON.day - 1)


def test_the_check_shows_values_and_says_what_is_wrong(cast: Cast, api: DatadogApi) -> None:
    def findings(**more: Any) -> list[Any]:
        return services.check_config(account=cast.account, connector="datadog", values={**VALUES, **more})

    good, key = findings(), findings(app_key="x" * 32)
    broken, tag = findings(query="broken{"), findings(customer_tag="team")
    api.shift = 3_600_000
    coarse = findings()

    assert all(each.is_ok for each in good)
    assert "Read the first values: acme, 10.5; acme, 2" in good[-1].title
    assert "timeseries_query" in key[0].fix
    assert "x" * 32 not in str(key)
    assert "unable to parse query" in broken[0].fix
    assert "Group the query by {team}." in tag[1].fix
    assert "Remove rollup()" in coarse[0].fix
