"""PostgreSQL and databases with its protocol: a query that returns FOCUS columns, run in a read-only transaction.

The host is checked by the SSRF guard, and the connection goes to the checked address. A server in a private network
needs ALERT_ALLOWED_NETWORKS, as every such address does. This server's own libpq settings (password file, service
file, environment) are not used.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import msgspec
import psycopg
from psycopg import errors

from finops.connections.connector import (
    AccessError,
    ConnectorConfig,
    Fetch,
    SecretText,
    SetupStep,
    SourceError,
    SourceUnavailable,
)
from finops.connections.transports.database_query import (
    FOCUS_QUERY,
    DatabaseSource,
    FocusQuery,
    TlsCheck,
    query_relation,
)
from finops.connections.transports.sql import (
    BATCH_ROWS,
    FocusRelation,
    SqlConnector,
    SqlSource,
    TextRow,
    text_of,
)
from finops.lib import time_limit
from finops.lib.outbound.endpoints import DeliveryTimeout, resolve_endpoint
from finops.lib.sentences import truncate

CONNECT_SECONDS: Final = 10
STATEMENT_SECONDS: Final = 1_800

_GRANT: Final = """\
CREATE ROLE finops_console LOGIN PASSWORD '…';
GRANT USAGE ON SCHEMA billing TO finops_console;
GRANT SELECT ON billing.focus_costs TO finops_console;"""


class PostgresqlConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A database, a role that may read, and the query."""

    host: Annotated[
        str, msgspec.Meta(title="Host", examples=["billing.example.com"], min_length=1, max_length=253)
    ]
    port: Annotated[int, msgspec.Meta(title="Port", ge=1, le=65_535)] = 5432
    database: Annotated[
        str, msgspec.Meta(title="Database", examples=["billing"], min_length=1, max_length=63)
    ]
    user: Annotated[str, msgspec.Meta(title="User", examples=["finops_console"], min_length=1, max_length=63)]
    password: Annotated[SecretText, msgspec.Meta(title="Password", min_length=1, max_length=500)]
    query: FocusQuery
    encryption: TlsCheck = "verify-full"


class Postgresql(SqlConnector[PostgresqlConfig, SqlSource]):
    name = "postgresql"
    title = "PostgreSQL"
    provider = "Databases"
    icon = "database"
    docs_url = "https://focus.finops.org/focus-specification/"
    description = "A query with FOCUS columns."
    order = 700
    Config = PostgresqlConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep("Create a read-only role", "Grant it only the tables of the query.", _GRANT, "sql"),
            SetupStep(
                "Write the query",
                "Quote FOCUS column names. The columns of the example are required.",
                FOCUS_QUERY,
                "sql",
            ),
            SetupStep(
                "Allow this server",
                "Allow the IP address of this server in pg_hba.conf and the firewall, with TLS.",
            ),
        )

    def check_title(self, config: PostgresqlConfig) -> str:
        return f"Connect to {config.database} on {config.host} as {config.user}"

    def source(self, config: PostgresqlConfig, fetch: Fetch | None = None) -> SqlSource:
        return PostgresqlDatabase(config)

    def bill(self, config: PostgresqlConfig, source: SqlSource) -> FocusRelation:
        return query_relation(source, config.query)


class PostgresqlDatabase(DatabaseSource):
    """A database and a role. Each statement runs in a read-only transaction of its own."""

    def __init__(self, config: PostgresqlConfig) -> None:
        self._config = config

    def moment(self, expression: str) -> str:
        return f"({expression})::timestamptz"

    def exact(self, expression: str) -> str:
        return f"({expression})::numeric"

    def batches(self, statement: str) -> Iterator[list[TextRow]]:
        with self._explain_errors(), self._connect() as connection:
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute("SET LOCAL TimeZone = 'UTC'")
            # Without a time-out, the statement of a killed check would continue to run.
            limit = max(1, int(1000 * time_limit.timeout(STATEMENT_SECONDS)))
            connection.execute(f"SET LOCAL statement_timeout = {limit}")
            with connection.cursor("finops_focus") as cursor:
                cursor.itersize = BATCH_ROWS
                cursor.execute(statement.encode())
                columns = cursor.description or []
                yield [[each.name for each in columns], [each.type_display for each in columns]]
                while rows := cursor.fetchmany(BATCH_ROWS):
                    yield [[text_of(value) for value in row] for row in rows]

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        config = self._config
        endpoint = resolve_endpoint(
            f"https://{config.host}:{config.port}", "host", time.monotonic() + CONNECT_SECONDS
        )
        return psycopg.connect(
            host=config.host,
            hostaddr=endpoint.addresses[0],
            port=config.port,
            dbname=config.database,
            user=config.user,
            password=config.password,
            sslmode=config.encryption,
            sslrootcert="system" if config.encryption == "verify-full" else "",
            connect_timeout=CONNECT_SECONDS,
            passfile="/dev/null",
            application_name="finops-console",
        )

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Turn psycopg's errors into errors that say what to do and never contain the password."""
        try:
            yield
        except DeliveryTimeout as error:
            raise SourceUnavailable(f"{error} Check the host.", field="host") from error
        except (errors.InvalidPassword, errors.InvalidAuthorizationSpecification) as error:
            raise AccessError(
                f"Sign-in failed for {self._config.user}. Check user and password.", field="password"
            ) from error
        except errors.InsufficientPrivilege as error:
            raise AccessError(
                f"{_first_line(error)}: GRANT SELECT on it to {self._config.user}.", field="query"
            ) from error
        except (errors.QueryCanceled, errors.AdminShutdown, errors.CannotConnectNow) as error:
            time_limit.check()
            raise SourceUnavailable(f"The database canceled the query: {_first_line(error)}.") from error
        except psycopg.OperationalError as error:
            raise self._connection_error(error) from error
        except psycopg.Error as error:
            raise SourceError(
                f"The database rejected the query: {_first_line(error)}.", field="query"
            ) from error

    def _connection_error(self, error: psycopg.OperationalError) -> SourceError:
        text = str(error).replace(self._config.password, "…")
        if (
            "password authentication failed" in text
            or "no pg_hba.conf entry" in text
            or "does not exist" in text
        ):
            line = text.strip().splitlines()[-1].partition("FATAL:")[2].strip() or "it refused the connection"
            return AccessError(
                f"The database refused the connection: {truncate(line, 200)}. Check user, password and pg_hba.conf."
            )
        if "certificate" in text or "SSL" in text:
            return SourceError(
                f"TLS with {self._config.host} failed: {truncate(text.strip().splitlines()[-1], 200)}. For a "
                "self-signed certificate, choose require.",
                field="encryption",
            )
        return SourceUnavailable(
            f"{self._config.host} could not be reached, or the connection broke. The next sync tries again."
        )


def _first_line(error: psycopg.Error) -> str:
    return truncate(re.sub(r"\s+", " ", error.diag.message_primary or str(error)).strip().rstrip("."), 300)
