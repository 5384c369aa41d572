"""A PostgreSQL database as a cost source, over TLS."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection as django_connection
from psycopg import sql
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import AccessError, CheckFinding, SourceError
from finops.connections.connectors import connector_of, connectors
from finops.connections.models import CostConnection, CostSync
from finops.connections.services import source_listings
from finops.costs.queries.spend import query_spend
from finops.costs.spend_query import SpendQuery
from finops.lib.outbound import UrlRefusal
from tests.cast import Cast
from tests.finops.connections.databases.lines import (
    ROWS,
    Line,
    assert_only_changed_month_is_read,
    assert_sync_brings_rows,
)
from tests.finops.connections.syncs.endless_sources import LoopbackPostgresql
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.tls_proxy import postgresql_with_tls

FOCUS = """
CREATE TABLE lines (
    "BilledCost" numeric, "EffectiveCost" numeric, "BillingCurrency" text, "BillingPeriodStart" timestamptz,
    "ChargePeriodStart" timestamptz, "ChargeCategory" text, "ProviderName" text, "ServiceName" text, "Tags" jsonb)
"""


@dataclass
class ShopDatabase:
    """A database of somebody's own, and a role that reads it."""

    port: int
    name: str
    admin: psycopg.Connection[tuple[Any, ...]]
    password: str = field(default_factory=lambda: secrets.token_hex(8))

    def add(self, rows: list[Line]) -> None:
        for billed, effective, period, charge, service in rows:
            self.admin.execute(
                "INSERT INTO lines VALUES (%s, %s, 'EUR', %s, %s, 'Usage', 'Own', %s, %s)",
                [billed, effective, period, charge, service, '{"team": "core"}'],
            )

    def values(self, **changes: object) -> dict[str, Any]:
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "database": self.name,
            "user": f"{self.name}_reader",
            "password": self.password,
            "query": "SELECT * FROM lines;",
            "encryption": "require",
            **changes,
        }


@pytest.fixture
def shop_database(settings: Settings, tmp_path: Path, transactional_db: None) -> Iterator[ShopDatabase]:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    server = django_connection.get_connection_params()
    name = f"shop_{secrets.token_hex(4)}"
    login: dict[str, Any] = {key: server[key] for key in ("host", "user", "password")} | {"autocommit": True}
    with psycopg.connect(dbname="postgres", **login) as operator:
        operator.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            with (
                postgresql_with_tls(f"{server['host']}/.s.PGSQL.5432", tmp_path) as port,
                psycopg.connect(dbname=name, **login) as admin,
            ):
                shop_database = ShopDatabase(port, name, admin)
                reader = sql.Identifier(f"{name}_reader")
                admin.execute(
                    sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(reader, shop_database.password)
                )
                admin.execute(FOCUS)
                admin.execute(sql.SQL("GRANT SELECT ON lines TO {}").format(reader))
                yield shop_database
        finally:
            operator.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
            operator.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(f"{name}_reader")))


def findings(cast: Cast, values: dict[str, object]) -> list[CheckFinding]:
    return services.check_config(account=cast.account, connector="postgresql", values=values)


def connect(cast: Cast, shop_database: ShopDatabase, **changes: object) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Own data centre",
        connector="postgresql",
        values=shop_database.values(**changes),
    )


def test_a_sync_brings_each_month_to_the_last_digit(cast: Cast, shop_database: ShopDatabase) -> None:
    shop_database.add(ROWS)
    connection = connect(cast, shop_database)

    with account_scope(cast.account):
        assert_sync_brings_rows(connection, cast.account)


def test_a_month_is_read_again_when_its_lines_change_and_not_otherwise(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    shop_database.add(ROWS)
    connection = connect(cast, shop_database)

    with account_scope(cast.account):
        assert_only_changed_month_is_read(
            connection,
            lambda: shop_database.admin.execute(
                'UPDATE lines SET "EffectiveCost" = 1 WHERE "BilledCost" = 100'
            ),
        )


def test_a_change_behind_the_longest_sums_is_seen(cast: Cast, shop_database: ShopDatabase) -> None:
    """Sums of 100 digits: what comes after them counts as much."""
    shop_database.add([("1e-100", "1e-100", "2026-05-01T00:00:00Z", "2026-05-03T00:00:00Z", "Storage")])
    connector = connector_of("postgresql")
    config = connector.Config(**shop_database.values())
    before = connector.months(config)
    shop_database.admin.execute('UPDATE lines SET "EffectiveCost" = 2e-100')
    dearer = connector.months(config)
    shop_database.admin.execute("""UPDATE lines SET "ChargePeriodStart" = '2026-05-04T00:00:00Z'""")

    assert len({each[0].fingerprint for each in (before, dearer, connector.months(config))}) == 3


def test_lines_without_a_billing_period_are_counted_and_not_left_out(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    shop_database.add([*ROWS, *[("5", "5", None, "2026-05-03T00:00:00Z", "Storage")] * 3])
    connection = connect(cast, shop_database)

    with account_scope(cast.account):
        sync = sync_now(connection)
    failed = [each for each in findings(cast, shop_database.values()) if not each.is_ok]

    assert sync.status == "failed"
    assert "BillingPeriodStart is empty in 3 rows" in sync.error
    assert "WHERE BillingPeriodStart IS NOT NULL" in sync.error
    assert [each.fix for each in failed] == [sync.error]


def test_a_period_that_is_not_a_billing_period_is_reported(cast: Cast, shop_database: ShopDatabase) -> None:
    """A time for each line instead of the begin of its month."""
    shop_database.admin.execute("""
        INSERT INTO lines SELECT 1, 1, 'EUR', now() - n * interval '1 second', now(), 'Usage', 'Own', 'Compute', '{}'
        FROM generate_series(1, 10001) AS n""")

    failed = [each for each in findings(cast, shop_database.values()) if not each.is_ok]

    assert [each.title for each in failed] == ["Find billing months"]
    assert "more than 10,000 different values" in failed[0].fix


def test_a_month_whose_query_is_refused_fails_alone(cast: Cast, shop_database: ShopDatabase) -> None:
    shop_database.add(ROWS)
    query = (
        """SELECT *, CASE WHEN "BilledCost" = 100 THEN 1 / ("BilledCost" - 100) END AS "x_Bad" FROM lines"""
    )
    connection = connect(cast, shop_database, query=query)

    with account_scope(cast.account):
        sync = sync_now(connection)

    assert actions(sync) == {"2026-07": "imported", "2026-06": "failed", "2026-05": "imported"}
    assert sync.error.startswith("2026-06: The database rejected the query: division by zero")


def test_the_check_tries_the_connection_the_columns_and_the_months(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    shop_database.add(ROWS)

    assert [(each.is_ok, each.fix) for each in findings(cast, shop_database.values())] == [(True, "")] * 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"password": "wrong and long"}, "Check user, password and pg_hba.conf"),
        ({"database": "postgres_no"}, "does not exist"),
        ({"query": "SELECT 1 AS one FROM lines"}, "There is no BilledCost, EffectiveCost"),
        ({"query": "SELECT * FROM no_such_table"}, 'relation "no_such_table" does not exist'),
        ({"query": "SELECT * FROM pg_authid"}, "GRANT SELECT on it"),
        ({"encryption": "verify-full"}, "choose require"),
    ],
)
def test_a_check_says_what_to_do(
    cast: Cast, shop_database: ShopDatabase, changes: dict[str, object], words: str
) -> None:
    failed = [each for each in findings(cast, shop_database.values(**changes)) if not each.is_ok]

    assert len(failed) == 1
    assert words in failed[0].fix
    assert shop_database.password not in failed[0].fix


def test_a_change_of_the_table_fails_the_next_sync_with_the_names_of_its_columns(
    cast: Cast, shop_database: ShopDatabase
) -> None:
    shop_database.add(ROWS)
    connection = connect(cast, shop_database)

    with account_scope(cast.account):
        sync_now(connection)
        shop_database.admin.execute('ALTER TABLE lines RENAME "ServiceName" TO service_title')
        shop_database.admin.execute('ALTER TABLE lines ALTER "BilledCost" TYPE boolean USING true')
        shop_database.admin.execute(
            'ALTER TABLE lines ALTER "BillingPeriodStart" TYPE int USING to_char("BillingPeriodStart", \'YYYYMM\')::int'
        )
        failed = sync_now(connection)
        answer = query_spend(
            cast.account, SpendQuery(start_date=date(2026, 5, 1), end_date=date(2026, 7, 31), basis="billed")
        )

    assert failed.error == (
        "There is no ServiceName (it may be service_title now). BilledCost is bool, not a "
        "number. BillingPeriodStart is int4, not a time. Name the columns of the table, "
        "view or query as FOCUS does, with amounts as numbers and periods as times."
    )
    assert [each.fix for each in findings(cast, shop_database.values()) if not each.is_ok] == [failed.error]
    assert answer.totals[0].amount == sum(Decimal(row[0]) for row in ROWS)


@pytest.mark.parametrize("type_", ["text", "varchar(40)", "double precision", "real", "money", "bigint"])
def test_amounts_may_be_of_any_type_that_holds_numbers(
    cast: Cast, shop_database: ShopDatabase, type_: str
) -> None:
    shop_database.add([("12", "10", "2026-05-01T00:00:00Z", "2026-05-03T00:00:00Z", "Storage")])
    shop_database.admin.execute(
        f'ALTER TABLE lines ALTER "EffectiveCost" TYPE {type_} USING "EffectiveCost"::{type_}'.encode()
    )

    assert all(each.is_ok for each in findings(cast, shop_database.values()))


def test_a_query_that_writes_changes_nothing(cast: Cast, shop_database: ShopDatabase) -> None:
    shop_database.add(ROWS)
    query = "WITH gone AS (DELETE FROM lines RETURNING *) SELECT * FROM gone"

    failed = [each for each in findings(cast, shop_database.values(query=query)) if not each.is_ok]

    assert len(failed) == 1
    assert shop_database.admin.execute("SELECT count(*) FROM lines").fetchone() == (len(ROWS),)


def test_a_host_in_a_private_network_is_refused(
    cast: Cast, shop_database: ShopDatabase, settings: Settings
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []

    failed = findings(cast, shop_database.values())

    assert "private or reserved network" in failed[0].fix


def test_a_server_without_tls_gets_no_password(
    cast: Cast, shop_database: ShopDatabase, settings: Settings, tmp_path: Path
) -> None:
    with postgresql_with_tls("/nowhere", tmp_path, offers_tls=False) as port:
        failed = findings(cast, shop_database.values(port=port))

    assert not failed[0].is_ok
    assert "TLS" in failed[0].fix


def test_errors_of_a_connector_are_written_for_people(shop_database: ShopDatabase) -> None:
    connector = connector_of("postgresql")
    config = connector.Config(**shop_database.values(password="wrong and long"))
    with pytest.raises(AccessError):
        connector.months(config)
    config = connector.Config(**shop_database.values(host="10.0.0.1"))
    with pytest.raises(UrlRefusal):
        connector.months(config)
    config = connector.Config(**shop_database.values(query="SELECT nothing at all"))
    with pytest.raises(SourceError):
        connector.months(config)


def test_a_query_that_never_answers_is_ended_in_the_time_of_a_listing(
    cast: Cast, shop_database: ShopDatabase, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_listings, "ANSWER_SECONDS", 1.0)
    settings.SYNC_LOOK_SECONDS = 1.0
    hangs = "SELECT lines.* FROM lines, pg_sleep(3600)"
    shop_database.add(ROWS)
    connection = services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Shop",
        connector="postgresql",
        values=shop_database.values(query=hangs),
    )
    monkeypatch.setitem(connectors(), "postgresql", LoopbackPostgresql())
    with account_scope(cast.account):
        sync = CostSync.objects.get(connection=connection)
        assert not services.check_for_changes(sync.pk, in_child=True)
        sync.refresh_from_db()
    assert sync.error.startswith("Listing the months took longer than")
