"""Usage that is pulled from Snowflake and BigQuery: replay servers that run the SQL in DuckDB."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import SourceError
from finops.connections.transports.sql_usage import check_subquery
from ingestion.queries import query_usage
from ingestion.usage_query import UsageFilter, UsageQuery
from tests.cast import Cast
from tests.finops.connections.databases.conftest import server
from tests.finops.connections.databases.vendors import ACCOUNT, KEY, Vendor
from tests.finops.connections.databases.warehouse import Warehouse, serve_bigquery, serve_snowflake
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

__all__ = ["server"]

TABLE = "shop.sales.orders"
QUERY = f"SELECT * FROM {TABLE} -- all; of (them"
ROWS = """
INSERT INTO orders VALUES
    ('acme', 'orders', 3.000000000001, '2026-05-03 00:00:00+00', 'eu'),
    ('acme', 'orders', 4, '2026-05-31 23:30:00+00', 'us'),
    ('beta', 'orders', 5, '2026-06-02 00:00:00+00', 'eu')"""


@pytest.fixture(params=["usage_snowflake", "usage_bigquery"])
def vendor(request: pytest.FixtureRequest, server: ReplayServer) -> Vendor:
    is_snowflake = request.param == "usage_snowflake"
    warehouse = Warehouse("snowflake" if is_snowflake else "bigquery", {TABLE: "orders"})
    warehouse.database.execute(
        "CREATE TABLE orders (customer_id VARCHAR, metric VARCHAR, quantity DECIMAL(30, 12), time TIMESTAMPTZ, region VARCHAR)"
    )
    warehouse.database.execute(ROWS)
    if is_snowflake:
        serve_snowflake(server, warehouse)
        values = {"account": "acme-prod", "user": "finops", "private_key": KEY, "warehouse": "FINOPS"}
    else:
        serve_bigquery(server, warehouse)
        values = {"key": json.dumps(ACCOUNT)}
    return Vendor(request.param, {**values, "query": QUERY}, warehouse, server)


def used_quantity(cast: Cast, **more: object) -> Decimal | None:
    query = UsageQuery(usage_metric="orders", start_date=date(2026, 5, 1), end_date=date(2026, 6, 30), **more)  # type: ignore[arg-type]
    with account_scope(cast.account):
        return query_usage(cast.account, query).quantity


@pytest.mark.django_db(transaction=True)
def test_a_sync_brings_each_day_once_and_a_changed_row_replaces_its_day(cast: Cast, vendor: Vendor) -> None:
    connection = vendor.connect(cast)
    with account_scope(cast.account):
        first, again = sync_now(connection), sync_now(connection)
    before = used_quantity(cast)
    vendor.warehouse.database.execute("UPDATE orders SET quantity = 10 WHERE region = 'us'")
    vendor.warehouse.database.execute("DELETE FROM orders WHERE customer_id = 'beta'")
    vendor.warehouse.database.execute(
        "INSERT INTO orders VALUES ('beta', 'orders', 1, '2026-06-02 09:00:00+00', 'eu')"
    )
    with account_scope(cast.account):
        changed = sync_now(connection)

    assert (first.status, first.error, first.rows) == ("done", "", 3)
    assert actions(first) == {"2026-06": "imported", "2026-05": "imported"}
    assert set(actions(again).values()) == {"unchanged"}
    assert before == Decimal("12.000000000001")
    assert set(actions(changed).values()) == {"imported"}
    assert used_quantity(cast) == Decimal("14.000000000001")
    assert used_quantity(cast, filters=[UsageFilter(dimension="region", values=["us"])]) == 10


@pytest.mark.django_db
def test_the_dry_run_shows_the_first_rows_and_names_missing_columns(cast: Cast, vendor: Vendor) -> None:
    good = vendor.findings(cast)
    bad = vendor.findings(cast, query=f"SELECT customer_id, quantity FROM {TABLE}")

    assert all(each.is_ok for each in good)
    assert any("acme, orders, 3.000000000001" in each.title for each in good)
    assert [each.fix for each in bad if not each.is_ok] == ["The query has no column metric and time."]


@pytest.mark.django_db(transaction=True)
def test_a_busy_vendor_is_retried_and_a_statement_that_fails_says_why(cast: Cast, vendor: Vendor) -> None:
    connection = vendor.connect(cast)
    vendor.server.faults = [Reply(429), Reply(503)]
    with account_scope(cast.account):
        sync = sync_now(connection)
        vendor.warehouse.refuse = lambda statement: "GROUP BY" in statement
        failed = sync_now(connection)

    assert (sync.status, sync.rows) == ("done", 3)
    assert failed.status == "failed"
    assert "not today" in failed.error
    assert used_quantity(cast) == Decimal("12.000000000001")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("DELETE FROM shop.sales.orders", "must begin with SELECT"),
        ("SELECT 1) AS x; DELETE FROM shop.sales.orders; SELECT (1", "without a semicolon"),
        ("SELECT 1) UNION (SELECT 2", "parentheses of the query do not match"),
        ("SELECT 'a", "without an end"),
    ],
)
def test_a_statement_other_than_a_single_select_is_never_sent(
    cast: Cast, vendor: Vendor, query: str, words: str
) -> None:
    findings = vendor.findings(cast, query=query)

    assert words in next(each.fix for each in findings if not each.is_ok)
    assert not any(query in statement for statement in vendor.warehouse.statements)


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "postgres"])
def test_marks_within_texts_and_comments_are_no_statements(dialect: str) -> None:
    check_subquery("WITH a AS (SELECT ';)(' AS x) SELECT * FROM a -- ; (\n;", dialect)
    with pytest.raises(SourceError):
        check_subquery("", dialect)


@pytest.mark.django_db
def test_a_warehouse_takes_one_statement_of_us(cast: Cast, vendor: Vendor) -> None:
    vendor.findings(cast)
    bodies = [json.loads(each.body) for each in vendor.server.requests if each.body.startswith(b"{")]

    assert bodies
    if vendor.name == "usage_snowflake":
        assert {each["parameters"]["MULTI_STATEMENT_COUNT"] for each in bodies} == {"1"}
    else:
        assert all(each["maximumBytesBilled"] for each in bodies)
    assert services.check_config(account=cast.account, connector=vendor.name, values=vendor.values)
