"""Arrow Flight SQL with pyarrow's client, which connects only to the checked address (ADR 0039).

A statement is two calls: GetFlightInfo returns tickets, DoGet their rows. The addresses that a server names for its
tickets are ignored. Responses are validated before use; the child process of a listing, a fetch and *Test connection*
limits their memory. pyarrow.flight is imported at the first statement: 30 MB.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from finops.connections.connector import AccessError, SourceError, SourceUnavailable
from finops.connections.transports.database_query import DatabaseSource
from finops.connections.transports.sql import BATCH_ROWS, TextRow, text_of
from finops.lib import time_limit
from finops.lib.outbound.endpoints import DeliveryTimeout, resolve_endpoint
from finops.lib.sentences import truncate

if TYPE_CHECKING:
    from pyarrow import flight

CONNECT_SECONDS: Final = 10.0
STATEMENT_SECONDS: Final = 1_800.0
MAX_MESSAGE_BYTES: Final = 64 << 20
"""Maximum bytes of a batch of rows as sent."""
MAX_TICKETS: Final = 10_000
_COMMAND: Final = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"


@dataclass(frozen=True)
class FlightLogin:
    """Server and credential: user and password, or a token without a user."""

    host: str
    port: int
    user: str
    secret: str
    is_verified: bool


class FlightSqlSource(DatabaseSource):
    """A server. Times without a zone are in UTC, so the server's or the connection's zone must be UTC."""

    def __init__(self, login: FlightLogin) -> None:
        self._login = login

    def moment(self, expression: str) -> str:
        moment = expression.replace("+00:00'", "'")
        return f"CAST({moment} AS TIMESTAMP)"

    def exact(self, expression: str) -> str:
        return f"CAST({expression} AS DECIMAL(38, 18))"

    def batches(self, statement: str) -> Iterator[list[TextRow]]:
        """Yield batches of rows. Raises SourceError for more than MAX_TICKETS parts and for unannounced columns, and
        the errors of `query`."""
        from pyarrow import flight

        with self._explain_errors(), self._connect() as client:
            options = self._options(client)
            descriptor = flight.FlightDescriptor.for_command(_command(statement))
            info = client.get_flight_info(descriptor, options)
            if len(info.endpoints) > MAX_TICKETS:
                raise SourceError(f"The database splits the answer into more than {MAX_TICKETS:,} parts.")
            yield [info.schema.names, [_type_name(each) for each in info.schema.types]]
            for endpoint in info.endpoints:
                reader = client.do_get(endpoint.ticket, options)
                if reader.schema.names != info.schema.names:
                    raise SourceError("The database sent other columns than it announced.")
                for chunk in reader:
                    yield from _rows(chunk.data)

    @contextmanager
    def _connect(self) -> Iterator[flight.FlightClient]:
        from pyarrow import flight

        login = self._login
        endpoint = resolve_endpoint(
            f"https://{login.host}:{login.port}", "host", time.monotonic() + CONNECT_SECONDS
        )
        with flight.FlightClient(
            f"grpc+tls://{_in_url(endpoint.addresses[0])}:{login.port}",
            override_hostname=login.host,
            **self._verification(),
            generic_options=[
                ("grpc.enable_http_proxy", 0),
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                ("grpc.default_authority", f"{login.host}:{login.port}"),
            ],
        ) as client:
            yield client

    def _verification(self) -> dict[str, Any]:
        """Return TLS options with the certificates that this server trusts; gRPC has a list of its own."""
        if not self._login.is_verified:
            return {"disable_server_verification": True}
        trusted = ssl.create_default_context().get_ca_certs(binary_form=True)
        return {"tls_root_certs": "".join(map(ssl.DER_cert_to_PEM_cert, trusted))}

    def _options(self, client: flight.FlightClient) -> flight.FlightCallOptions:
        from pyarrow import flight

        login = self._login
        header = (b"authorization", f"Bearer {login.secret}".encode())
        if login.user:
            connecting = flight.FlightCallOptions(timeout=time_limit.timeout(CONNECT_SECONDS))
            try:
                header = client.authenticate_basic_token(login.user, login.secret, connecting)
            except flight.FlightInternalError:  # it has no details; another call returns them
                list(client.list_actions(connecting))
                raise
        return flight.FlightCallOptions(timeout=time_limit.timeout(STATEMENT_SECONDS), headers=[header])

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Context manager that converts pyarrow's errors to ours: with what to do, without the secret."""
        from pyarrow import flight

        try:
            yield
        except DeliveryTimeout as error:
            raise SourceUnavailable(f"{error} Check the host.", field="host") from error
        except flight.FlightUnauthenticatedError as error:
            raise AccessError(
                "Sign-in failed. Check user and password, or the token.", field="secret"
            ) from error
        except flight.FlightUnauthorizedError as error:
            raise AccessError(
                f"{self._text(error)}: grant the user SELECT on what the query reads.", field="query"
            ) from error
        except flight.FlightTimedOutError as error:
            time_limit.check()
            raise SourceUnavailable(f"The database took too long: {self._text(error)}.") from error
        except flight.FlightCancelledError as error:
            time_limit.check()
            limit = MAX_MESSAGE_BYTES >> 20
            raise SourceUnavailable(
                f"The response ended early, or had a batch of more than {limit} MB."
            ) from error
        except flight.FlightUnavailableError as error:
            raise self._connection_error(str(error)) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            raise SourceError(
                f"The database rejected the query: {self._text(error)}.", field="query"
            ) from error

    def _connection_error(self, text: str) -> SourceError:
        if re.search(r"certificate|SSL|[Hh]andshake", text):
            return SourceError(
                f"TLS with {self._login.host} failed. For a self-signed certificate, choose require.",
                field="encryption",
            )
        return SourceUnavailable(
            f"{self._login.host} could not be reached, or the connection broke. The next sync tries again."
        )

    def _text(self, error: Exception) -> str:
        text = str(error).replace(self._login.secret, "…")
        text = re.sub(
            r"\s+", " ", re.split(r"\. (?:Detail|gRPC client debug context|Client context):", text)[0]
        )
        return truncate(re.sub(r"^Flight returned [a-z ]+ error, with message: ", "", text).rstrip("."), 300)


def _in_url(address: str) -> str:
    return f"[{address}]" if ipaddress.ip_address(address).version == 6 else address


def _command(statement: str) -> bytes:
    """Return `CommandStatementQuery(query=statement)` packed as google.protobuf.Any, in protobuf's wire format:
    fields 1 and 2, each with its length. Source: FlightSql.proto of Apache Arrow."""
    return _field(1, _COMMAND) + _field(2, _field(1, statement.encode()))


def _field(number: int, value: bytes) -> bytes:
    length, size = b"", len(value)
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def _type_name(kind: pa.DataType) -> str:
    """Return the type as databases name it; empty for types that can hold anything."""
    names = {
        "decimal": pa.types.is_decimal,
        "double": pa.types.is_floating,
        "bigint": pa.types.is_integer,
        "timestamp": pa.types.is_timestamp,
        "date": pa.types.is_date,
        "boolean": pa.types.is_boolean,
        "binary": lambda each: pa.types.is_binary(each) or pa.types.is_large_binary(each),
        "struct": pa.types.is_nested,
    }
    return next((name for name, is_kind in names.items() if is_kind(kind)), "")


def _rows(batch: pa.RecordBatch) -> Iterator[list[TextRow]]:
    """Yield the rows as text in batches. Raises pa.ArrowInvalid for a batch that does not match its schema."""
    batch.validate(full=True)
    for start in range(0, batch.num_rows, BATCH_ROWS):
        columns = [_texts(column) for column in batch.slice(start, BATCH_ROWS).columns]
        yield list(zip(*columns, strict=True))


def _texts(column: pa.Array) -> list[str | None]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_map(column.type):
        return [None if value is None else text_of(dict(value)) for value in column.to_pylist()]
    return [text_of(value) for value in column.to_pylist()]
