"""A database that speaks Arrow Flight SQL as a cost source, over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import AccessError, CheckFinding, Fetch, SourceError, SourceUnavailable
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection
from finops.connections.transports import flight_sql
from finops.lib.outbound import UrlRefusal
from tests.cast import Cast
from tests.finops.connections.databases.flight_server import (
    PASSWORD,
    TOKEN,
    USER,
    FlightServer,
    flight_server,
)
from tests.finops.connections.databases.lines import (
    ROWS,
    assert_only_changed_month_is_read,
    assert_sync_brings_rows,
)
from tests.finops.connections.databases.warehouse import FOCUS_TABLE

CONFIG = connector_of("flight_sql").Config
ELSEWHERE = "grpc+tls://169.254.169.254:443"


@pytest.fixture
def server(settings: Settings, tmp_path: Path) -> Iterator[FlightServer]:
    """It names another address for its rows."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(FOCUS_TABLE)
        database.executemany(
            "INSERT INTO lines VALUES (?, ?, 'EUR', ?::TIMESTAMPTZ, ?::TIMESTAMPTZ, 'Usage', 'Own', ?, '{\"team\": \"core\"}')",
            [list(row) for row in ROWS],
        )
        with flight_server(tmp_path, database, [ELSEWHERE]) as running:
            yield running


def values(server: FlightServer, **changes: object) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": server.port,
        "user": USER,
        "secret": PASSWORD,
        "query": "SELECT * FROM lines;",
        "encryption": "require",
        **changes,
    }


def connect(cast: Cast, server: FlightServer, **changes: object) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Lakehouse",
        connector="flight_sql",
        values=values(server, **changes),
    )


def findings(cast: Cast, server: FlightServer, **changes: object) -> list[CheckFinding]:
    return services.check_config(
        account=cast.account, connector="flight_sql", values=values(server, **changes)
    )


@pytest.mark.django_db
@pytest.mark.parametrize("login", [{}, {"user": "", "secret": TOKEN}], ids=["password", "token"])
def test_a_sync_brings_each_month_to_the_last_digit(
    cast: Cast, server: FlightServer, login: dict[str, str]
) -> None:
    connection = connect(cast, server, **login)

    with account_scope(cast.account):
        assert_sync_brings_rows(connection, cast.account)


@pytest.mark.django_db
def test_a_month_is_read_again_when_its_lines_change_and_not_otherwise(
    cast: Cast, server: FlightServer
) -> None:
    connection = connect(cast, server)

    with account_scope(cast.account):
        assert_only_changed_month_is_read(
            connection,
            lambda: server.database.execute("UPDATE lines SET EffectiveCost = 1 WHERE BilledCost = 100"),
        )


@pytest.mark.django_db
def test_the_check_tries_the_connection_the_columns_and_the_months(cast: Cast, server: FlightServer) -> None:
    assert [(each.is_ok, each.fix) for each in findings(cast, server)] == [(True, "")] * 3


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"secret": "wrong and long"}, "Sign-in failed"),
        ({"user": "", "secret": "wrong and long"}, "Sign-in failed"),
        ({"query": "SELECT 1 AS one FROM lines"}, "There is no BilledCost, EffectiveCost"),
        ({"query": "SELECT * FROM no_such_table"}, "no_such_table does not exist"),
        ({"query": "DELETE FROM lines RETURNING *"}, "The database rejected the query"),
        ({"encryption": "verify-full"}, "choose require"),
        ({"host": "10.0.0.1"}, "private or reserved network"),
    ],
)
def test_a_check_says_what_to_do(
    cast: Cast, server: FlightServer, changes: dict[str, object], words: str
) -> None:
    failed = [each for each in findings(cast, server, **changes) if not each.is_ok]

    assert len(failed) == 1
    assert words in failed[0].fix
    assert PASSWORD not in failed[0].fix
    assert "wrong and long" not in failed[0].fix
    assert server.database.execute("SELECT count(*) FROM lines").fetchone() == (len(ROWS),)


def test_a_certificate_that_this_server_trusts_passes_for_its_host_alone(
    server: FlightServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    connector = connector_of("flight_sql")
    config = CONFIG(**values(server, host="localhost", encryption="verify-full"))
    assert len(connector.months(config)) == 3
    with pytest.raises(SourceError, match=r"TLS with 127\.0\.0\.1 failed"):
        connector.months(CONFIG(**values(server, encryption="verify-full")))


def test_columns_that_were_not_announced_are_refused(server: FlightServer) -> None:
    connector = connector_of("flight_sql")
    server.schema = pa.schema([("one", pa.int64())])
    with pytest.raises(SourceError):
        connector.months(CONFIG(**values(server)))


def test_a_server_that_never_answers_is_left(server: FlightServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_sql, "STATEMENT_SECONDS", 0.5)
    server.answers.clear()
    try:
        with pytest.raises(SourceUnavailable, match="took too long"):
            connector_of("flight_sql").months(CONFIG(**values(server)))
    finally:
        server.answers.set()


def test_a_message_beyond_the_limit_is_not_read(
    server: FlightServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight_sql, "MAX_MESSAGE_BYTES", 4_000)
    server.database.execute(
        "INSERT INTO lines SELECT * REPLACE (repeat('x', 5000) AS ServiceName) FROM lines"
    )
    connector, config = connector_of("flight_sql"), CONFIG(**values(server))
    (may, *_rest) = sorted(connector.months(config), key=lambda each: each.month)
    with pytest.raises(SourceError, match="ended early, or had a batch of more than"):
        connector.fetch(config, may, Fetch(tmp_path))


def test_errors_of_a_connector_are_written_for_people(server: FlightServer) -> None:
    connector = connector_of("flight_sql")
    with pytest.raises(AccessError):
        connector.months(CONFIG(**values(server, secret="wrong and long")))
    with pytest.raises(UrlRefusal):
        connector.months(CONFIG(**values(server, host="169.254.169.254")))
