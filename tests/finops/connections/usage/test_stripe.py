"""Stripe as a usage source, from a server that answers as its API does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostConnection
from finops.lib import clock
from ingestion.queries import query_usage
from ingestion.usage_query import UsageQuery
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

KEY = "rk_test_0123456789abcdefghij"
ACME = {"id": "cus_1", "name": "Acme", "metadata": {"tenant_id": "acme"}}


def at(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, 9, tzinfo=UTC).timestamp())


class StripeApi:
    """`invoices` and `subscriptions` in pages of two."""

    def __init__(self, replay: ReplayServer) -> None:
        self.replay = replay
        today = NOON.date()
        self.day = today.replace(day=1)
        self.invoices: list[dict[str, Any]] = [
            self.invoice("in_1", 120_000, total_excluding_tax=100_000),
            self.invoice("in_2", 50_01),
            self.invoice("in_3", 500, currency="jpy"),
            self.invoice("in_4", 99_999, status="void"),
        ]
        self.subscriptions = [self.subscription("sub_1", 7), self.subscription("sub_2", 3)]
        replay.routes["/v1/invoices"] = lambda request: self._page(request, self._invoices_of_period(request))
        replay.routes["/v1/subscriptions"] = lambda request: self._page(request, self.subscriptions)

    def invoice(self, name: str, total: int, **more: Any) -> dict[str, Any]:
        return {
            "id": name,
            "created": at(self.day),
            "currency": "usd",
            "status": "paid",
            "total": total,
            "customer": ACME,
            **more,
        }

    def subscription(self, name: str, seats: int) -> dict[str, Any]:
        items = {"data": [{"quantity": seats}]}
        start = at(self.day)
        return {"id": name, "start_date": start, "status": "active", "items": items, "customer": ACME}

    def _invoices_of_period(self, request: ReplayRequest) -> list[dict[str, Any]]:
        first, end = int(request.param("created[gte]")), int(request.param("created[lt]"))
        return [each for each in self.invoices if first <= each["created"] < end]

    def _page(self, request: ReplayRequest, rows: list[dict[str, Any]]) -> Reply:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Reply.of_json({"error": {"message": "Expired API Key provided"}}, 401)
        after = request.param("starting_after")
        begin = next((at + 1 for at, each in enumerate(rows) if each["id"] == after), 0)
        page = rows[begin : begin + 2]
        return Reply.of_json({"data": page, "has_more": begin + 2 < len(rows)})


@pytest.fixture
def api(replay: ReplayServer, settings: Settings) -> Iterator[StripeApi]:
    settings.CONNECTOR_BASE_URLS = {"stripe": replay.url}
    with clock.frozen(NOON):
        yield StripeApi(replay)


def connect(cast: Cast) -> CostConnection:
    values = {"api_key": KEY, "customer_field": "tenant_id"}
    return services.create_connection(
        account=cast.account, actor=cast.actor, name="Stripe", connector="stripe", values=values
    )


def used_by_value(cast: Cast, metric: str) -> dict[str, Decimal]:
    first = NOON.date().replace(day=1)
    query = UsageQuery(usage_metric=metric, start_date=first, end_date=NOON.date(), group_by=["customer"])
    with account_scope(cast.account):
        return {row.value: row.quantity for row in query_usage(cast.account, query).rows}


@pytest.mark.django_db(transaction=True)
def test_invoices_are_revenue_and_subscriptions_and_seats_gauges(cast: Cast, api: StripeApi) -> None:
    connection = connect(cast)
    with account_scope(cast.account):
        first, again = sync_now(connection), sync_now(connection)

    assert (first.status, first.error) == ("done", "")
    assert set(actions(again).values()) == {"unchanged"}
    assert used_by_value(cast, "revenue_usd") == {"acme": Decimal("1050.01")}
    assert used_by_value(cast, "revenue_jpy") == {"acme": Decimal(500)}
    assert used_by_value(cast, "subscriptions") == {"acme": Decimal(2)}
    assert used_by_value(cast, "seats") == {"acme": Decimal(10)}


@pytest.mark.django_db(transaction=True)
def test_a_voided_invoice_goes_and_a_fault_passes(
    cast: Cast, api: StripeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.connections.transports.http.sleep", lambda _seconds: None)
    connection = connect(cast)
    with account_scope(cast.account):
        sync_now(connection)
        api.invoices[1]["status"] = "void"
        api.replay.faults = [Reply(503), Reply(200, b'{"data": [', cut=0.5)]
        changed = sync_now(connection)

    assert (changed.status, changed.error) == ("done", "")
    assert used_by_value(cast, "revenue_usd") == {"acme": Decimal(1000)}


@pytest.mark.django_db(transaction=True)
def test_months_without_data_are_not_said_to_be_imported(cast: Cast, api: StripeApi) -> None:
    connection = connect(cast)
    client = Client()
    client.force_login(cast.member)
    with account_scope(cast.account):
        sync = sync_now(connection)
    page = client.get(f"/a/{cast.account.slug}/connections/syncs/{sync.pk}/").content.decode()

    assert (sync.months_listed, sync.months_imported) == (13, 1)
    assert "1 month imported, 12 without data" in page
    assert re.search(r"<dt>Without data</dt>\s*<dd>\s*12\s*</dd>", page)


def test_a_key_that_is_not_accepted_says_what_to_do_and_is_not_shown(cast: Cast, api: StripeApi) -> None:
    wrong = "rk_test_wrong_0123456789"
    findings = services.check_config(account=cast.account, connector="stripe", values={"api_key": wrong})
    good = services.check_config(account=cast.account, connector="stripe", values={"api_key": KEY})

    assert [each.is_ok for each in findings] == [False, False]
    assert "has expired. Create a restricted key" in findings[0].fix
    assert wrong not in str(findings)
    assert all(each.is_ok for each in good)
