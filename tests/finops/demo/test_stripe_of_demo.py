"""The demo's replay of Stripe: usage that syncs pull into Lumenly Labs, and go on pulling."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.test import Client

from accounts.models import Account, User
from accounts.scoping import account_scope
from finops.connections.models import CostConnection, CostSync
from finops.connections.services import queue_sync, run_sync
from finops.demo.people import EMAIL
from finops.demo.stripe import LABS_CUSTOMERS, SEAT_PRICE, SOURCE_NAME, _seats
from finops.lib import clock
from ingestion.models import UsageKey
from ingestion.queries import query_usage
from ingestion.usage_query import UsageQuery
from tests.cast import ACTOR
from tests.finops.demo.test_load_demo import TODAY, load, own_var

__all__ = ["own_var"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
FIRST, LAST = date(2026, 11, 1), TODAY.date()


def used_quantity(account: Account, metric: str, last: date = LAST) -> Decimal | None:
    with account_scope(account):
        return query_usage(account, UsageQuery(usage_metric=metric, start_date=FIRST, end_date=last)).quantity


def test_a_load_syncs_the_replay_and_a_later_day_brings_its_gauges(own_var: Path) -> None:
    output = load()
    labs = Account.objects.get(slug="lumenly-labs")
    revenue, seats = used_quantity(labs, "revenue_usd"), used_quantity(labs, "seats")
    with account_scope(labs):
        connection = CostConnection.objects.get(usage_source__name=SOURCE_NAME)
        first = CostSync.objects.get(connection=connection)
        load(if_empty=True)
        tomorrow = TODAY + timedelta(days=1)
        with clock.frozen(tomorrow):
            sync = queue_sync(connection=connection, actor=ACTOR)
            assert run_sync(sync.pk)
        sync.refresh_from_db()
        assert not UsageKey.objects.exists()

    # cust-015 pays in euros, cust-017's invoice is void, cust-020 has left.
    here = [each for each in LABS_CUSTOMERS if each.id not in ("cust-015", "cust-017", "cust-020")]
    assert "Lumenly Labs: Stripe (replay)" in output
    assert (first.status, first.error) == ("done", "")
    assert revenue == Decimal(sum(map(_seats, here)) * SEAT_PRICE) / 100
    assert seats is not None
    assert seats >= sum(map(_seats, here))
    assert (sync.status, sync.error) == ("done", "")
    with clock.frozen(tomorrow):
        page = _client().get(f"/a/lumenly-labs/connections/usage/{connection.target_id}/").content.decode()
    assert "Stripe (replay)" in page
    assert "It has no API key" in page
    assert used_quantity(labs, "revenue_usd", tomorrow.date()) == revenue


def test_the_catalogue_offers_stripe_and_no_replay(own_var: Path) -> None:
    load()
    page = _client().get("/a/lumenly-labs/connections/new/?q=stripe").content.decode()

    assert "connector=stripe" in page
    assert "stripe_sample" not in page


def _client() -> Client:
    client = Client()
    client.force_login(User.objects.get(email=EMAIL))
    return client
