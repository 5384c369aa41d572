"""Usage from Snowflake: a query that returns customer, metric, quantity and time, by the SQL API with a key pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from finops.connections.connector import Fetch, SetupStep
from finops.connections.connectors.snowflake import KEY_PAIR_STEP, SnowflakeUser, SnowflakeWarehouse
from finops.connections.transports.sql import SqlSource
from finops.connections.transports.sql_usage import QUERY_FIELD, UsageQuery, UsageSqlConnector

_GRANT: Final = """\
CREATE ROLE finops_console;
GRANT USAGE ON WAREHOUSE finops TO ROLE finops_console;
GRANT USAGE ON DATABASE shop TO ROLE finops_console;
GRANT USAGE ON SCHEMA shop.sales TO ROLE finops_console;
GRANT SELECT ON TABLE shop.sales.orders TO ROLE finops_console;
CREATE USER finops_console TYPE = SERVICE DEFAULT_ROLE = finops_console RSA_PUBLIC_KEY = '…';
GRANT ROLE finops_console TO USER finops_console;"""
_QUERY: Final = """\
SELECT customer_id, 'orders' AS metric, COUNT(*) AS quantity,
       DATE_TRUNC('DAY', created_at) AS time, region
FROM shop.sales.orders GROUP BY customer_id, DATE_TRUNC('DAY', created_at), region"""


class UsageSnowflakeConfig(SnowflakeUser, frozen=True, kw_only=True):
    """A user with a key pair, and the query of usage."""

    query: UsageQuery


class _Warehouse(SnowflakeWarehouse):
    field = QUERY_FIELD


class UsageSnowflake(UsageSqlConnector[UsageSnowflakeConfig]):
    name = "usage_snowflake"
    title = "Snowflake usage"
    provider = "Snowflake"
    icon = "snowflake"
    docs_url = "https://docs.snowflake.com/en/developer-guide/sql-api/index"
    description = "A query that returns customer, metric, quantity and time."
    order = 802
    dialect = "snowflake"
    month_sql = "TO_CHAR(CONVERT_TIMEZONE('UTC', {}), 'YYYY-MM')"
    Config = UsageSnowflakeConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            KEY_PAIR_STEP,
            SetupStep(
                "Create a user with read access", "Grant it only the tables of the query.", _GRANT, "sql"
            ),
            SetupStep(
                "Write the query",
                "One row per customer, metric and time. Sum by day: a changed row replaces the previous one.",
                _QUERY,
                "sql",
            ),
        )

    def check_title(self, config: UsageSnowflakeConfig) -> str:
        return f"Run a query as {config.user} on {config.warehouse} (USAGE)"

    def source(self, config: UsageSnowflakeConfig, fetch: Fetch | None = None) -> SqlSource:
        return _Warehouse(config, "the tables of the query", fetch)

    def query_of(self, config: UsageSnowflakeConfig) -> str:
        return config.query
