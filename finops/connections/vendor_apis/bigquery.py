"""BigQuery by its REST API: queries as jobs, their rows in pages.

The API needs no client library: it is two requests, and the library has 20 packages. Values are text, so amounts stay
exact. MAX_BYTES_BILLED limits the cost of a mistake; columns are read by a dry run, which costs nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from finops.connections.connector import Fetch, SourceError, SourceUnavailable
from finops.connections.transports.http import HttpApi, PermissionRefusal, RequestRefusal, path_part
from finops.connections.transports.sql import BATCH_ROWS, QueryResult, SqlSource, TextRow
from finops.connections.transports.sql_columns import SqlColumn
from finops.connections.transports.tokens import RenewableToken
from finops.connections.vendor_apis.service_account import GoogleServiceAccount
from finops.lib.sentences import truncate

API_URL: Final = "https://bigquery.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/bigquery.readonly"
CONNECTOR: Final = "bigquery"
MAX_BYTES_BILLED: Final = 2 * 1024**4
JOB_SECONDS: Final = 1_800
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# https://cloud.google.com/bigquery/docs/error-messages
_LATER: Final = {
    "rateLimitExceeded": "BigQuery is rate limiting requests.",
    "jobRateLimitExceeded": "BigQuery is rate limiting requests.",
    "quotaExceeded": "The project that pays for the queries has reached a quota.",
    "backendError": "BigQuery has an internal error.",
    "jobBackendError": "BigQuery has an internal error.",
    "internalError": "BigQuery has an internal error.",
    "jobInternalError": "BigQuery has an internal error.",
    "tableUnavailable": "The table cannot be read at the moment.",
    "timeout": f"The query took longer than {JOB_SECONDS // 60} minutes.",
    "stopped": "The query was canceled in BigQuery.",
}
_REFUSALS: Final = {
    "billingNotEnabled": "Billing is off in the project that pays for the queries. Turn it on, or name another project.",
    "bytesBilledLimitExceeded": f"A query would read more than {MAX_BYTES_BILLED // 1024**4} TiB. Name a table of its own "
    "instead of a view over larger ones.",
    "invalidQuery": "BigQuery rejected the query. For a view, run it in BigQuery.",
    "notFound": "The table does not exist, or not in this location. Check both.",
    "resourcesExceeded": "BigQuery ran out of resources. Name a table, or a view without sorting and large joins.",
}


class TableField(msgspec.Struct, frozen=True):
    """A column, or a field of a record."""

    name: str
    type: str
    mode: str = "NULLABLE"
    fields: list[TableField] = []


class _Schema(msgspec.Struct, frozen=True):
    fields: list[TableField] = []


class _Job(msgspec.Struct, frozen=True, rename="camel"):
    job_id: str = ""
    location: str = ""


class _Error(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _Partitions(msgspec.Struct, frozen=True):
    """Partitions; by ingestion time if no field is given."""

    field: str = ""


class _Table(msgspec.Struct, frozen=True, rename="camel"):
    time_partitioning: _Partitions | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    """Response of a finished job. `errors` may be warnings; without a schema the job failed with the first of them."""

    job_complete: bool = False
    job_reference: _Job | None = None
    schema: _Schema | None = None
    errors: list[_Error] = []
    total_rows: str = ""
    rows: list[dict[str, list[dict[str, Any]]]] = []
    page_token: str = ""


class _Api(HttpApi):
    """The REST API. Quotas and limits have status 403 and 400, as do missing permissions and invalid queries."""

    def _refusal(self, reason: str, words: str) -> SourceError | None:
        return _refusal(reason, words)


class BigQueryWarehouse(SqlSource):
    """BigQuery with a service account key. `project` pays (empty: the account's), `table` is for messages. Raises
    SourceError for an invalid key."""

    vendor = "BigQuery"
    field = "table"
    quote = "`"

    def __init__(self, key: str, project: str, location: str, table: str, fetch: Fetch | None = None) -> None:
        account = GoogleServiceAccount.read(key)
        self._project = path_part(project or account.project_id)
        self._location = location
        api = _Api(
            connector=CONNECTOR,
            vendor=self.vendor,
            base_url=API_URL,
            key_fix="Create a new key of the service account and enter it in this connection.",
            scope_fix=f"{account.client_email} needs BigQuery Job User in the project and BigQuery Data Viewer on {table}.",
            token=RenewableToken(lambda: account.access_token(SCOPE, CONNECTOR)),
            secrets=(key,),
        )
        self._api = api.for_fetch(fetch) if fetch else api

    def query(self, statement: str) -> QueryResult:
        """Run a query. Raises SourceError for a job that fails, SourceUnavailable for one that takes too long."""
        first = self._wait(self._ask(statement))
        fields = _fields_of(first)
        total = int(first.total_rows) if first.total_rows.isdecimal() else None
        return QueryResult([each.name for each in fields], self._batches(first, fields), total)

    def fields(self, relation: str) -> list[TableField]:
        """Return the relation's columns by a dry run, which reads nothing. Raises the errors of `query`."""
        return _fields_of(self._ask(f"SELECT * FROM {relation}", dryRun=True))  # noqa: S608 the connector's own relation

    def is_partitioned_by_arrival(self, table: str) -> bool:
        """Return whether `_PARTITIONTIME` can be queried; not for a view, nor if the table's description cannot be
        read. Raises SourceUnavailable."""
        project, dataset, name = (path_part(each) for each in table.rsplit(".", 2))
        path = f"/bigquery/v2/projects/{project}/datasets/{dataset}/tables/{name}"
        try:
            partitions = self._api.get(path, [("fields", "timePartitioning")], _Table).time_partitioning
        except (RequestRefusal, PermissionRefusal):
            return False
        return partitions is not None and not partitions.field

    def columns(self, relation: str) -> list[SqlColumn]:
        return [
            SqlColumn(each.name, "ARRAY" if each.mode == "REPEATED" else each.type)
            for each in self.fields(relation)
        ]

    def moment(self, expression: str) -> str:
        return f"CAST({expression} AS TIMESTAMP)"

    def exact(self, expression: str) -> str:
        return f"CAST({expression} AS BIGNUMERIC)"

    def _ask(self, statement: str, **options: object) -> _Answer:
        body = {
            "query": statement,
            "useLegacySql": False,
            "maxResults": BATCH_ROWS,
            "timeoutMs": 30_000,
            "jobTimeoutMs": str(JOB_SECONDS * 1000),
            "maximumBytesBilled": str(MAX_BYTES_BILLED),
            "formatOptions": {"useInt64Timestamp": True},
            **({"location": self._location} if self._location else {}),
            **options,
        }
        path = f"/bigquery/v2/projects/{self._project}/queries"
        return self._api.post(path, msgspec.json.encode(body), "application/json", _Answer)

    def _wait(self, answer: _Answer) -> _Answer:
        """Return the first page once the job is done. Each request waits up to half a minute at BigQuery."""
        deadline = time.monotonic() + JOB_SECONDS
        while not answer.job_complete:
            if time.monotonic() > deadline:
                raise SourceUnavailable(f"{_LATER['timeout']} The next sync tries again.")
            answer = self._page(answer.job_reference, "")
        return answer

    def _page(self, job: _Job | None, token: str) -> _Answer:
        if job is None or not job.job_id:
            raise SourceError("BigQuery returned no job ID. Sync again.")
        path = f"/bigquery/v2/projects/{self._project}/queries/{path_part(job.job_id)}"
        params: list[tuple[str, str | int]] = [("maxResults", BATCH_ROWS), ("timeoutMs", 30_000)]
        params += [("location", job.location)] if job.location else []
        params += [("pageToken", token)] if token else []
        return self._api.get(path, [*params, ("formatOptions.useInt64Timestamp", "true")], _Answer)

    def _batches(self, first: _Answer, fields: Sequence[TableField]) -> Iterator[list[TextRow]]:
        def page_of(token: str) -> _Answer:
            return self._page(first.job_reference, token) if token else first

        for page in self._api.pages(page_of, lambda answer: answer.page_token):
            yield [
                [_text(cell.get("v"), each) for cell, each in zip(row["f"], fields, strict=True)]
                for row in page.rows
            ]


def _fields_of(answer: _Answer) -> list[TableField]:
    """Return the fields of a finished job. Raises SourceError for one that failed."""
    if answer.schema is not None:
        return answer.schema.fields
    first = answer.errors[0] if answer.errors else _Error(message="The job has no result.")
    words = truncate(first.message, 300)
    raise _refusal(first.reason, words) or SourceError(f"The query failed: {words}", field="table")


def _refusal(reason: str, words: str) -> SourceError | None:
    """Return the message for an error reason, with BigQuery's own text."""
    if reason in _LATER:
        return SourceUnavailable(f"{_LATER[reason]} The next sync tries again. BigQuery's message: {words}")
    if reason in _REFUSALS:
        return SourceError(f"{_REFUSALS[reason]} BigQuery's message: {words}", field="table")
    return None


def _text(value: Any, field: TableField) -> str | None:
    plain = _plain(value, field)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain)


def _plain(value: Any, field: TableField) -> Any:
    if field.mode == "REPEATED":
        element = msgspec.structs.replace(field, mode="NULLABLE")
        return [_plain(each.get("v"), element) for each in value or ()]
    if value is None:
        return None
    if field.type in ("RECORD", "STRUCT"):
        return {
            each.name: _plain(cell.get("v"), each)
            for cell, each in zip(value["f"], field.fields, strict=True)
        }
    if field.type == "TIMESTAMP":
        return (_EPOCH + timedelta(microseconds=int(value))).isoformat()
    return str(value)
