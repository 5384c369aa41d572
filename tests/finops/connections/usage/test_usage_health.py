"""The health of pulls in Data health and the list of usage sources, as for cost sources."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostConnection
from finops.insights.connection_health import ConnectionHealth
from finops.insights.data_health import HealthAnswer, data_health
from finops.lib import clock
from tests.cast import ACTOR, Cast
from tests.finops.connections.databases.test_postgresql import ShopDatabase, shop_database
from tests.finops.connections.syncs.sync_steps import sync_now
from tests.finops.connections.usage.test_usage_postgresql import connect

__all__ = ["shop_database"]
pytestmark = pytest.mark.django_db(transaction=True)


def answer_of(cast: Cast) -> HealthAnswer:
    with account_scope(cast.account):
        return data_health(cast.account)


def health(cast: Cast) -> ConnectionHealth:
    (row,) = [each for each in answer_of(cast).connections if each.kind == "usage"]
    return row


def source_list(cast: Cast) -> str:
    client = Client()
    client.force_login(cast.member)
    return client.get(f"/a/{cast.account.slug}/connections/usage/").content.decode()


def failing(cast: Cast, shop_database: ShopDatabase) -> CostConnection:
    connection = connect(cast, shop_database)
    with account_scope(cast.account):
        sync_now(connection)
        shop_database.admin.execute("ALTER TABLE orders RENAME TO sales")
        sync_now(connection)
    return connection


def test_a_pull_that_fails_is_named_with_its_error_and_what_to_do(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    failing(cast, shop_database)

    row, answer = health(cast), answer_of(cast)
    assert (row.status, row.what_to_do) == ("failing", "Fix the last error, then sync again.")
    assert "Syncs have failed since" in row.reason
    assert 'relation "orders" does not exist' in row.last_error
    assert any("Usage source 'Shop' is failing" in each for each in answer.warnings)
    page = source_list(cast)
    assert "Failing" in page
    assert "relation &quot;orders&quot; does not exist" in page
    assert "PostgreSQL usage" in page


def test_a_pull_that_is_paused_or_waits_says_so(cast: Cast, shop_database: ShopDatabase) -> None:
    connection = connect(cast, shop_database)
    assert health(cast).status == "importing"

    with account_scope(cast.account):
        sync_now(connection)
    well = health(cast)
    assert well.status == "healthy"
    assert "Next sync on" in well.expected_reason
    assert "Healthy" in source_list(cast)

    with account_scope(cast.account):
        services.pause_connection(connection=connection, actor=ACTOR)
    assert "Syncs have been paused since" in health(cast).reason
    assert "Paused" in source_list(cast)


def test_a_pull_that_no_worker_takes_is_late(cast: Cast, shop_database: ShopDatabase) -> None:
    connection = connect(cast, shop_database)
    with account_scope(cast.account):
        sync_now(connection)
    with clock.frozen(clock.now() + timedelta(hours=3)):
        assert "Late" in source_list(cast)


def test_a_pull_that_found_nothing_says_no_cost_word(cast: Cast, shop_database: ShopDatabase) -> None:
    connection = connect(cast, shop_database, query="SELECT * FROM orders WHERE false")
    with account_scope(cast.account):
        sync_now(connection)

    row = health(cast)
    assert (row.status, row.reason) == ("no_data", "No usage found yet.")
    assert "cost" not in f"{row.reason}{row.what_to_do}"
