"""A Flight SQL server over DuckDB, by pyarrow's own server: sign-in by password or token, TLS, tickets."""

from __future__ import annotations

import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import flight

from tests.tls_proxy import certificate

USER, PASSWORD, TOKEN = "finops_console", "a long password", "issued-token"


class _SignedIn(flight.ServerMiddleware):  # type: ignore[misc]
    def sending_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {TOKEN}"}


class _SignIn(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    def start_call(self, info: Any, headers: dict[str, list[str]]) -> _SignedIn:
        (value, *_rest) = headers.get("authorization", [""])
        basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if value not in (f"Basic {basic}", f"Bearer {TOKEN}"):
            raise flight.FlightUnauthenticatedError("No valid credentials")
        return _SignedIn()


class FlightServer(flight.FlightServerBase):  # type: ignore[misc]
    """`elsewhere`: the addresses that it names for its tickets. It answers while `answers` is set."""

    def __init__(self, pem: str, database: duckdb.DuckDBPyConnection, elsewhere: list[str]) -> None:
        super().__init__(
            "grpc+tls://127.0.0.1:0",
            auth_handler=_NoHandshake(),
            tls_certificates=[(pem, pem)],
            middleware={"sign-in": _SignIn()},
        )
        self.database, self.elsewhere, self.statements = database, elsewhere, list[str]()
        self.schema: pa.Schema | None = None
        self.answers = threading.Event()
        self.answers.set()

    def get_flight_info(self, context: Any, descriptor: flight.FlightDescriptor) -> flight.FlightInfo:
        statement = _statement(descriptor.command)
        self.statements.append(statement)
        schema = self._answer(statement).schema
        endpoint = flight.FlightEndpoint(descriptor.command, self.elsewhere)
        return flight.FlightInfo(self.schema or schema, descriptor, [endpoint], -1, -1)

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.RecordBatchStream:
        self.answers.wait()
        return flight.RecordBatchStream(self._answer(_statement(ticket.ticket)))

    def _answer(self, statement: str) -> pa.Table:
        try:
            return self.database.cursor().execute(statement).to_arrow_table()
        except duckdb.PermissionException as error:
            raise flight.FlightUnauthorizedError(str(error)) from error
        except duckdb.Error as error:
            raise pa.ArrowInvalid(str(error).splitlines()[0]) from error


class _NoHandshake(flight.ServerAuthHandler):  # type: ignore[misc]
    def authenticate(self, outgoing: Any, incoming: Any) -> None: ...

    def is_valid(self, token: bytes) -> bytes:
        return b""


def _statement(command: bytes) -> str:
    """Of protobuf's `Any(CommandStatementQuery(query))`, read by its lengths."""
    name, remaining = _field(command)
    assert name.endswith(b"arrow.flight.protocol.sql.CommandStatementQuery")
    message, _end = _field(remaining)
    query, _end = _field(message)
    return query.decode()


def _field(message: bytes) -> tuple[bytes, bytes]:
    size, shift, at = 0, 0, 1
    while True:
        size |= (message[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not message[at - 1] & 0x80:
            return message[at : at + size], message[at + size :]


@contextmanager
def flight_server(
    folder: Path, database: duckdb.DuckDBPyConnection, elsewhere: list[str]
) -> Iterator[FlightServer]:
    pem = certificate(folder).read_text()
    assert ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERT") :])
    with FlightServer(pem, database, elsewhere) as server:
        threading.Thread(target=server.serve, daemon=True).start()
        yield server
