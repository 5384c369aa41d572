"""Usage that is pulled from a PostgreSQL database, over TLS."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostConnection, CostSync
from finops.lib.errors import UserError
from ingestion.models import UsageBatch, UsageSource
from ingestion.queries import query_usage
from ingestion.services.keys import generate_usage_key
from ingestion.services.sources import delete_usage_source
from ingestion.usage_query import UsageFilter, UsageQuery
from tests.cast import ACTOR, Cast
from tests.finops.connections.databases.test_postgresql import ShopDatabase, shop_database
from tests.finops.connections.syncs.sync_steps import actions, sync_now

__all__ = ["shop_database"]

ROWS = [
    ("acme", "orders", "3.000000000001", "2026-05-03T00:00:00Z", "eu"),
    ("acme", "orders", "4", "2026-05-04T00:00:00Z", "us"),
    ("beta", "orders", "5", "2026-06-02T00:00:00Z", "eu"),
]


def fill(shop_database: ShopDatabase) -> None:
    shop_database.admin.execute(
        "CREATE TABLE orders (customer_id text, metric text, quantity numeric, time timestamptz, region text)"
    )
    shop_database.admin.execute(f"GRANT SELECT ON orders TO {shop_database.name}_reader")
    for row in ROWS:
        shop_database.admin.execute("INSERT INTO orders VALUES (%s, %s, %s, %s, %s)", row)


def connect(cast: Cast, shop_database: ShopDatabase, query: str = "SELECT * FROM orders") -> CostConnection:
    fill(shop_database)
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Shop",
        connector="usage_postgresql",
        values=shop_database.values(query=query),
    )


def used_quantity(cast: Cast, **more: object) -> Decimal | None:
    query = UsageQuery(usage_metric="orders", start_date=date(2026, 5, 1), end_date=date(2026, 6, 30), **more)  # type: ignore[arg-type]
    with account_scope(cast.account):
        return query_usage(cast.account, query).quantity


def metered_count(cast: Cast) -> int:
    with account_scope(cast.account):
        return sum(each.stored_count for each in UsageBatch.objects.all())


def test_a_sync_brings_each_day_exactly_and_once(cast: Cast, shop_database: ShopDatabase) -> None:
    connection = connect(cast, shop_database)

    with account_scope(cast.account):
        first, again = sync_now(connection), sync_now(connection)

    assert actions(first) == {"2026-06": "imported", "2026-05": "imported"}
    assert set(actions(again).values()) == {"unchanged"}
    assert used_quantity(cast) == Decimal("12.000000000001")
    assert used_quantity(cast, filters=[UsageFilter(dimension="region", values=["us"])]) == 4
    assert (metered_count(cast), first.rows) == (3, 3)


def test_a_changed_row_replaces_the_one_before_and_a_deleted_one_goes(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    connection = connect(cast, shop_database)

    with account_scope(cast.account):
        sync_now(connection)
        shop_database.admin.execute("UPDATE orders SET quantity = 10 WHERE region = 'us'")
        shop_database.admin.execute("DELETE FROM orders WHERE time < '2026-05-04'")
        changed = sync_now(connection)

    assert actions(changed) == {"2026-06": "unchanged", "2026-05": "imported"}
    assert used_quantity(cast) == 15
    assert metered_count(cast) == 2


def test_the_check_shows_the_first_rows_and_names_missing_columns(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    connection = connect(cast, shop_database)
    good = services.check_config(
        account=cast.account,
        connector="usage_postgresql",
        values=shop_database.values(query="SELECT * FROM orders"),
    )
    bad = services.check_config(
        account=cast.account,
        connector="usage_postgresql",
        values=shop_database.values(query="SELECT customer_id, quantity FROM orders"),
    )

    assert connection.usage_source is not None
    assert all(each.is_ok for each in good)
    assert any("acme, orders, 3.000000000001" in each.title for each in good)
    assert [each.fix for each in bad if not each.is_ok] == ["The query has no column metric and time."]


def test_a_wrong_row_is_rejected_alone(cast: Cast, shop_database: ShopDatabase) -> None:
    connection = connect(cast, shop_database)
    shop_database.admin.execute("INSERT INTO orders VALUES (NULL, 'orders', 1, '2026-05-04', 'eu')")

    with account_scope(cast.account):
        sync = sync_now(connection)

    assert used_quantity(cast) == Decimal("12.000000000001")
    assert "1 rows were rejected. First reason: customer_id must be" in str(sync.periods)


def test_a_query_cannot_write(cast: Cast, shop_database: ShopDatabase) -> None:
    fill(shop_database)
    shop_database.admin.execute(f"GRANT ALL ON orders TO {shop_database.name}_reader")
    values = shop_database.values(query="WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone")
    findings = services.check_config(account=cast.account, connector="usage_postgresql", values=values)

    assert not all(each.is_ok for each in findings)
    row = shop_database.admin.execute("SELECT count(*) FROM orders").fetchone()
    assert row == (3,)


def test_a_pull_source_has_no_key_and_goes_with_its_connection(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    connection = connect(cast, shop_database)
    source = connection.usage_source
    assert source is not None
    with account_scope(cast.account):
        sync_now(connection)
        with pytest.raises(UserError, match="pulls usage with a vendor's credential and has no API key"):
            generate_usage_key(source=source, actor=ACTOR)
        delete_usage_source(source=source, actor=ACTOR)

        assert not UsageSource.objects.exists()
        assert not CostSync.objects.exists()
    assert used_quantity(cast) is None
