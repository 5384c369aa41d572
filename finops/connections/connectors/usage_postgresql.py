"""Usage from PostgreSQL, or what speaks its protocol: a query that gives customer, metric, quantity and time, read in a transaction
that can only read, with an end to its time and rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from finops.connections.checks import check_list
from finops.connections.connector import BillMonth, CheckFinding, Connector, Contents, Fetch, SetupStep
from finops.connections.connectors.postgresql import PostgresqlConfig, PostgresqlDatabase
from finops.connections.transports.sql_usage import USAGE_QUERY, UsageQuery, UsageRelation
from finops.costs.focus.normalise import FocusFile

_GRANT: Final = """\
CREATE ROLE finops_console LOGIN PASSWORD '…';
GRANT USAGE ON SCHEMA shop TO finops_console;
GRANT SELECT ON shop.orders TO finops_console;"""
_MONTH: Final = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM')"


class UsageQueryConfig(PostgresqlConfig, frozen=True, kw_only=True):
    """A database, a role that may read, and the query of usage."""

    query: UsageQuery


class UsagePostgresql(Connector[UsageQueryConfig]):
    name = "usage_postgresql"
    title = "PostgreSQL usage"
    provider = "Databases"
    icon = "database"
    docs_url = "https://www.postgresql.org/docs/current/sql-select.html"
    description = "A query that gives customer, metric, quantity and time."
    order = 800
    contents = Contents.USAGE
    changes_while_read = True
    Config = UsageQueryConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep("Create a read-only role", "Grant it only the tables of the query.", _GRANT, "sql"),
            SetupStep(
                "Write the query",
                "One row a customer, metric and time. Sum by day: a changed row replaces the one before.",
                USAGE_QUERY,
                "sql",
            ),
            SetupStep(
                "Allow this server",
                "Allow the IP address of this server in pg_hba.conf and the firewall, with TLS.",
            ),
        )

    def check(self, config: UsageQueryConfig) -> list[CheckFinding]:
        source = PostgresqlDatabase(config)
        with check_list() as checks:
            title = f"Connect to {config.database} on {config.host} as {config.user}"
            checks.attempt(title, lambda: list(source.query("SELECT 1").rows()))
            relation = checks.attempt("Read the columns", lambda: _relation(config))
            first = checks.attempt("Read the first rows", relation.first_rows)
            checks.findings[-1] = CheckFinding(first, True)
            checks.attempt("Find months", relation.months)
        return checks.findings

    def months(self, config: UsageQueryConfig) -> list[BillMonth]:
        return _relation(config).months()

    def fetch(self, config: UsageQueryConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        return _relation(config).fetch(month, fetch)


def _relation(config: UsageQueryConfig) -> UsageRelation:
    return UsageRelation(PostgresqlDatabase(config), config.query, _MONTH)
