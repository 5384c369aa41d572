"""Snowflake: its own FOCUS view of an organization's cost, or any view with FOCUS columns, by the SQL API with a key pair.

The REST API needs no client library (snowflake-connector-python has 25 dependencies). Values are texts, so amounts stay exact.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Annotated, ClassVar, Final

import msgspec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from finops.connections.connector import (
    ConnectorConfig,
    Fetch,
    SecretText,
    SetupStep,
    SourceError,
    SourceUnavailable,
)
from finops.connections.transports.http import HttpApi, path_part, sleep
from finops.connections.transports.sql import (
    FocusRelation,
    QueryResult,
    SqlConnector,
    SqlSource,
    TextRow,
)
from finops.connections.transports.tokens import RenewableToken
from finops.connections.vendor_apis.service_account import rsa_key, signed_jwt

STATEMENT_SECONDS: Final = 1_800
POLL_SECONDS: Final = 2.0
_DAY_ZERO: Final = date(1970, 1, 1)
_MOMENT_ZERO: Final = datetime(1970, 1, 1, tzinfo=UTC)

_GRANT: Final = """\
CREATE ROLE finops_console;
GRANT DATABASE ROLE SNOWFLAKE.ORGANIZATION_BILLING_VIEWER TO ROLE finops_console;
GRANT USAGE ON WAREHOUSE finops TO ROLE finops_console;
CREATE USER finops_console TYPE = SERVICE DEFAULT_ROLE = finops_console RSA_PUBLIC_KEY = '…';
GRANT ROLE finops_console TO USER finops_console;"""
_KEYS: Final = """\
openssl genrsa 2048 | openssl pkcs8 -topk8 -nocrypt -out finops_console.p8
openssl rsa -in finops_console.p8 -pubout"""
KEY_PAIR_STEP: Final = SetupStep(
    "Create a key pair", "Paste the private key into the form. The public key goes to the user.", _KEYS, "sh"
)


class SnowflakeUser(ConnectorConfig, frozen=True, kw_only=True):
    """An account, a user with a key pair, and what the user runs queries with."""

    account: Annotated[
        str,
        msgspec.Meta(
            title="Account identifier",
            description="Organization and account name.",
            examples=["acme-prod"],
            pattern=r"^[A-Za-z0-9_]+(-[A-Za-z0-9_]+)?$",
            max_length=200,
        ),
    ]
    user: Annotated[
        str,
        msgspec.Meta(
            title="User", examples=["FINOPS_CONSOLE"], pattern=r"^[A-Za-z0-9_@.-]+$", max_length=200
        ),
    ]
    private_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Private key", description="PEM without a passphrase.", min_length=100, max_length=10_000
        ),
    ]
    warehouse: Annotated[
        str, msgspec.Meta(title="Warehouse", examples=["FINOPS"], min_length=1, max_length=200)
    ]
    role: Annotated[str, msgspec.Meta(title="Role", examples=["FINOPS_CONSOLE"], max_length=200)] = (
        "FINOPS_CONSOLE"
    )


class SnowflakeConfig(SnowflakeUser, frozen=True, kw_only=True):
    """A user, and the view."""

    view: Annotated[
        str,
        msgspec.Meta(
            title="View",
            description="Including database and schema.",
            pattern=r"^[A-Za-z0-9_$]+\.[A-Za-z0-9_$]+\.[A-Za-z0-9_$]+$",
            max_length=300,
        ),
    ] = "SNOWFLAKE.BILLING.FOCUS_COST_USAGE_V1_3"


class Snowflake(SqlConnector[SnowflakeConfig, SqlSource]):
    name = "snowflake"
    title = "Snowflake"
    provider = "Snowflake"
    icon = "snowflake"
    docs_url = "https://docs.snowflake.com/en/user-guide/cost-anomalies-focus"
    description = "FOCUS view of the organization."
    order: ClassVar[int] = 60
    Config = SnowflakeConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            KEY_PAIR_STEP,
            SetupStep("Create a user with read access", "Run in the organization account.", _GRANT, "sql"),
        )

    def check_title(self, config: SnowflakeConfig) -> str:
        return f"Run a query as {config.user} on {config.warehouse} (USAGE)"

    def source(self, config: SnowflakeConfig, fetch: Fetch | None = None) -> SqlSource:
        return SnowflakeWarehouse(config, config.view, fetch)

    def bill(self, config: SnowflakeConfig, source: SqlSource) -> FocusRelation:
        return FocusRelation(source, config.view)


class _Column(msgspec.Struct, frozen=True):
    name: str
    type: str


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    row_type: list[_Column] = []
    partition_info: list[msgspec.Raw] = []
    num_rows: int | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    """An answer. While a statement runs, it has only the statement's handle."""

    statement_handle: str = ""
    result_set_meta_data: _Metadata | None = None
    data: list[list[str | None]] = []


class SnowflakeWarehouse(SqlSource):
    """Snowflake with one user. `relation` is the name of the view or query in messages."""

    vendor = "Snowflake"

    def __init__(self, config: SnowflakeUser, relation: str, fetch: Fetch | None = None) -> None:
        self._config = config
        api = HttpApi(
            connector=Snowflake.name,
            vendor=self.vendor,
            base_url=f"https://{config.account.lower().replace('_', '-')}.snowflakecomputing.com",
            key_fix=f"Check that the public key of {config.user} is this private key's, and the account identifier.",
            scope_fix=f"Grant USAGE on {config.warehouse} and SELECT on {relation} to {config.role}.",
            headers={"X-Snowflake-Authorization-Token-Type": "KEYPAIR_JWT"},
            token=RenewableToken(lambda: _token(config)),
            secrets=(config.private_key,),
        )
        self._api = api.for_fetch(fetch) if fetch else api

    def query(self, statement: str) -> QueryResult:
        body = {
            "statement": statement,
            "timeout": STATEMENT_SECONDS,
            "warehouse": self._config.warehouse,
            "role": self._config.role,
            # One statement, whatever the account's default: a person's query could contain another.
            "parameters": {"TIMEZONE": "UTC", "MULTI_STATEMENT_COUNT": "1"},
        }
        answer = self._api.post("/api/v2/statements", msgspec.json.encode(body), "application/json", _Answer)
        answer, metadata = self._wait(answer)
        names = [each.name for each in metadata.row_type]
        types = [each.type for each in metadata.row_type]
        return QueryResult(names, self._batches(answer, metadata), metadata.num_rows, types)

    def moment(self, expression: str) -> str:
        """Return an SQL expression of a time in UTC. A cast to TIMESTAMP_NTZ would keep the local time of a
        TIMESTAMP_TZ; a time without a zone is in the session's zone, UTC."""
        return f"CAST({expression} AS TIMESTAMP_TZ)"

    def exact(self, expression: str) -> str:
        return f"CAST({expression} AS NUMBER(38, 18))"

    def _wait(self, answer: _Answer) -> tuple[_Answer, _Metadata]:
        """Return the answer of a statement once it has ended. Raises SourceUnavailable for a statement that takes too long."""
        deadline = time.monotonic() + STATEMENT_SECONDS
        while answer.result_set_meta_data is None:
            if time.monotonic() > deadline:
                raise SourceUnavailable(
                    f"The query took longer than {STATEMENT_SECONDS // 60} minutes at Snowflake. Use a larger warehouse."
                )
            self._api.progress(0)
            sleep(POLL_SECONDS)
            answer = self._part(answer.statement_handle, ())
        return answer, answer.result_set_meta_data

    def _part(self, handle: str, params: Sequence[tuple[str, str | int]]) -> _Answer:
        if not handle:
            raise SourceError("Snowflake returned no statement ID. Sync again.")
        return self._api.get(f"/api/v2/statements/{path_part(handle)}", params, _Answer)

    def _batches(self, first: _Answer, metadata: _Metadata) -> Iterator[list[TextRow]]:
        readers = [_READERS.get(column.type.lower(), _as_is) for column in metadata.row_type]
        for number in range(max(1, len(metadata.partition_info))):
            answer = self._part(first.statement_handle, [("partition", number)]) if number else first
            yield [
                [None if value is None else read(value) for value, read in zip(row, readers, strict=True)]
                for row in answer.data
            ]


def _token(config: SnowflakeUser) -> str:
    """Return a JWT for Snowflake's key pair authentication, valid for an hour."""
    key = rsa_key(config.private_key, "private_key")
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    subject = f"{config.account.upper()}.{config.user.upper()}"
    fingerprint = base64.b64encode(sha256(public).digest()).decode()
    now = int(time.time())
    claims = {"iss": f"{subject}.SHA256:{fingerprint}", "sub": subject, "iat": now, "exp": now + 3_540}
    return signed_jwt({"alg": "RS256", "typ": "JWT"}, claims, key)


def _as_is(value: str) -> str:
    return value


def _day(value: str) -> str:
    return (_DAY_ZERO + timedelta(days=int(value))).isoformat()


def _moment(value: str) -> str:
    """Parse seconds since 1970 in UTC with decimals. The offset of a time zone follows after a blank, in minutes plus 1,440."""
    seconds = Decimal(value.partition(" ")[0])
    return (_MOMENT_ZERO + timedelta(microseconds=int(seconds * 1_000_000))).isoformat()


_READERS: Final[dict[str, Callable[[str], str]]] = {
    "date": _day,
    "timestamp_ntz": _moment,
    "timestamp_ltz": _moment,
    "timestamp_tz": _moment,
}
