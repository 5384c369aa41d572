"""A database with Arrow Flight SQL, such as Dremio, GizmoSQL, Doris and InfluxDB: a query that returns FOCUS columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from finops.connections.connector import ConnectorConfig, Fetch, SecretText, SetupStep
from finops.connections.transports.database_query import FOCUS_QUERY, FocusQuery, TlsCheck, query_relation
from finops.connections.transports.flight_sql import FlightLogin, FlightSqlSource
from finops.connections.transports.sql import FocusRelation, SqlConnector


class FlightSqlConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A server, a user that may read, and the query."""

    host: Annotated[
        str, msgspec.Meta(title="Host", examples=["flight.example.com"], min_length=1, max_length=253)
    ]
    port: Annotated[int, msgspec.Meta(title="Port", ge=1, le=65_535)] = 32_010
    user: Annotated[
        str,
        msgspec.Meta(
            title="User",
            description="Leave empty to sign in with a token.",
            examples=["finops_console"],
            max_length=255,
        ),
    ] = ""
    secret: Annotated[SecretText, msgspec.Meta(title="Password or token", min_length=1, max_length=4_000)]
    query: FocusQuery
    encryption: TlsCheck = "verify-full"


class FlightSql(SqlConnector[FlightSqlConfig, FlightSqlSource]):
    name = "flight_sql"
    title = "Arrow Flight SQL"
    provider = "Databases"
    icon = "database"
    docs_url = "https://arrow.apache.org/docs/format/FlightSql.html"
    description = "A query with FOCUS columns: Dremio, GizmoSQL, Doris, InfluxDB and others."
    order = 710
    Config = FlightSqlConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create a read-only user",
                "Grant it only SELECT on the tables of the query: Flight SQL has no read-only transactions.",
            ),
            SetupStep(
                "Write the query",
                "Name the columns as FOCUS does. The columns of the example are required. Times without a zone count as UTC.",
                FOCUS_QUERY,
                "sql",
            ),
            SetupStep(
                "Allow this server",
                "Allow the IP address of this server in the firewall, with TLS. Data must come from the same address.",
            ),
        )

    def check_title(self, config: FlightSqlConfig) -> str:
        return f"Connect to {config.host}" + (f" as {config.user}" if config.user else "")

    def source(self, config: FlightSqlConfig, fetch: Fetch | None = None) -> FlightSqlSource:
        is_verified = config.encryption == "verify-full"
        return FlightSqlSource(FlightLogin(config.host, config.port, config.user, config.secret, is_verified))

    def bill(self, config: FlightSqlConfig, source: FlightSqlSource) -> FocusRelation:
        return query_relation(source, config.query)
