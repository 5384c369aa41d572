"""Usage from PostgreSQL and databases with its protocol: a query that returns customer, metric, quantity and time,
run in a read-only transaction with limits of time and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from finops.connections.connector import Fetch, SetupStep
from finops.connections.connectors.postgresql import PostgresqlConfig, PostgresqlDatabase
from finops.connections.transports.sql import SqlSource
from finops.connections.transports.sql_usage import USAGE_QUERY, UsageQuery, UsageSqlConnector

_GRANT: Final = """\
CREATE ROLE finops_console LOGIN PASSWORD '…';
GRANT USAGE ON SCHEMA shop TO finops_console;
GRANT SELECT ON shop.orders TO finops_console;"""


class UsageQueryConfig(PostgresqlConfig, frozen=True, kw_only=True):
    """A database, a role that may read, and the query of usage."""

    query: UsageQuery


class UsagePostgresql(UsageSqlConnector[UsageQueryConfig]):
    name = "usage_postgresql"
    title = "PostgreSQL usage"
    provider = "Databases"
    icon = "database"
    docs_url = "https://www.postgresql.org/docs/current/sql-select.html"
    description = "A query that returns customer, metric, quantity and time."
    order = 800
    dialect = "postgres"
    month_sql = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM')"
    Config = UsageQueryConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep("Create a read-only role", "Grant it only the tables of the query.", _GRANT, "sql"),
            SetupStep(
                "Write the query",
                "One row per customer, metric and time. Sum by day: a changed row replaces the previous one.",
                USAGE_QUERY,
                "sql",
            ),
            SetupStep(
                "Allow this server",
                "Allow the IP address of this server in pg_hba.conf and the firewall, with TLS.",
            ),
        )

    def check_title(self, config: UsageQueryConfig) -> str:
        return f"Connect to {config.database} on {config.host} as {config.user}"

    def source(self, config: UsageQueryConfig, fetch: Fetch | None = None) -> SqlSource:
        return PostgresqlDatabase(config)

    def query_of(self, config: UsageQueryConfig) -> str:
        return config.query
