"""CloudWatch metrics as a usage source, on moto's server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from moto.cloudwatch.models import cloudwatch_backends
from moto.core.models import DEFAULT_ACCOUNT_ID as ACCOUNT
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connectors import cloudwatch
from finops.connections.models import CostConnection
from finops.lib import clock
from ingestion.queries import query_usage
from ingestion.usage_query import UsageFilter, UsageQuery
from tests.cast import Cast
from tests.finops.connections.conftest import client_of
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.s3 import KEY, REGION

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
"""moto's metrics are those of the real day."""
VALUES: dict[str, Any] = {
    "region": REGION,
    "access": "access_key",
    "access_key_id": KEY,
    "secret_access_key": KEY,
    "namespace": "Shop",
    "metric_name": "Orders",
    "customer_dimension": "Tenant",
    "other_dimensions": ["Region"],
    "metric": "orders",
}


class Metrics:
    """`Orders` of yesterday, by tenant and region, and once by tenant alone."""

    def __init__(self, endpoint: str) -> None:
        self.client = client_of(endpoint, "cloudwatch")
        self.put("acme", 3, region="eu")
        self.put("acme", 4, region="us")
        self.put("beta", 5, region="eu")
        self.put("acme", 100)

    def put(self, tenant: str, value: float, hours: int = 26, **more: str) -> None:
        values = {"Tenant": tenant, **{name.capitalize(): text for name, text in more.items()}}
        # moto compares dimensions in the order that they came in.
        dimensions = [{"Name": name, "Value": text} for name, text in sorted(values.items())]
        moment = NOON - timedelta(hours=hours)
        datum = {"MetricName": "Orders", "Dimensions": dimensions, "Timestamp": moment, "Value": value}
        self.client.put_metric_data(Namespace="Shop", MetricData=[datum])

    def forget(self, tenant: str) -> None:
        """As AWS does in its list two weeks after the last value. moto lists what has values: they stay aside."""
        backend = cloudwatch_backends[ACCOUNT][REGION]
        backend.metric_data = [
            each for each in backend.metric_data if all(item.value != tenant for item in each.dimensions)
        ]


@pytest.fixture
def metrics(moto_server: str, settings: Settings) -> Iterator[Metrics]:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.CONNECTOR_BASE_URLS = {"cloudwatch": moto_server}
    cloudwatch_backends[ACCOUNT][REGION].metric_data = []
    with clock.frozen(NOON):
        yield Metrics(moto_server)


def connect(cast: Cast, **more: Any) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="CloudWatch",
        connector="cloudwatch",
        values={**VALUES, **more},
    )


def used_quantity(cast: Cast, **more: Any) -> Decimal | None:
    query = UsageQuery(
        usage_metric="orders", start_date=NOON.date() - timedelta(days=10), end_date=NOON.date(), **more
    )
    with account_scope(cast.account):
        return query_usage(cast.account, query).quantity


@pytest.mark.django_db(transaction=True)
def test_metrics_with_exactly_the_dimensions_are_stored_once(
    cast: Cast, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloudwatch, "QUERIES", 2)
    connection = connect(cast)
    with account_scope(cast.account):
        first, again = sync_now(connection), sync_now(connection)
        metrics.put("beta", 2, hours=25, region="eu")
        changed = sync_now(connection)

    assert (first.status, first.error, first.rows) == ("done", "", 3)
    assert set(actions(again).values()) == {"unchanged"}
    assert "imported" in actions(changed).values()
    assert used_quantity(cast) == 14
    assert used_quantity(cast, filters=[UsageFilter(dimension="Region", values=["us"])]) == 4


@pytest.mark.django_db(transaction=True)
def test_a_customer_no_longer_listed_by_cloudwatch_is_still_queried(
    cast: Cast, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect(cast)
    with account_scope(cast.account):
        sync_now(connection)
        list_metrics = cloudwatch._Client.listed_metrics
        monkeypatch.setattr(
            cloudwatch._Client,
            "listed_metrics",
            lambda self: (each for each in list_metrics(self) if ("Tenant", "beta") not in each),
        )
        metrics.put("acme", 1, hours=25, region="eu")
        sync = sync_now(connection)

    assert "imported" in actions(sync).values()
    assert used_quantity(cast, filters=[UsageFilter(dimension="customer", values=["beta"])]) == 5
    assert used_quantity(cast) == 13


@pytest.mark.django_db(transaction=True)
def test_a_value_that_is_gone_goes(cast: Cast, metrics: Metrics) -> None:
    connection = connect(cast)
    with account_scope(cast.account):
        sync_now(connection)
        metrics.forget("beta")
        sync = sync_now(connection)

    assert sync.status == "done"
    assert used_quantity(cast) == 7


def test_the_check_shows_values_and_names_what_is_missing(
    cast: Cast, metrics: Metrics, settings: Settings
) -> None:
    def findings(**more: Any) -> list[Any]:
        return services.check_config(account=cast.account, connector="cloudwatch", values={**VALUES, **more})

    good, none = findings(), findings(metric_name="Sales")
    settings.CONNECTOR_BASE_URLS = {"cloudwatch": "http://127.0.0.1:9"}
    away = findings()

    assert all(each.is_ok for each in good)
    assert "acme, 3" in good[-1].title
    assert "no metric Sales with the dimensions Region, Tenant alone" in none[0].fix
    assert "could not be reached" in away[0].fix
    assert KEY not in str(away)
