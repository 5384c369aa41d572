"""BigQuery: a table or view of FOCUS columns, such as the one that Google Cloud Billing exports, by BigQuery's REST API.

The API needs no client library: it is two requests, and the library brings 20 packages. Values come as text, so amounts stay
exact. A look reads four columns of the view; MAX_BYTES_BILLED bounds what a mistake can cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final

import msgspec

from finops.connections.connector import (
    ConnectorConfig,
    Fetch,
    SecretText,
    SetupStep,
    SourceError,
)
from finops.connections.transports.http import HttpApi, path_part
from finops.connections.transports.sql import (
    BATCH_ROWS,
    FocusRelation,
    QueryResult,
    SqlConnector,
    SqlSource,
    TextRow,
)
from finops.connections.vendor_apis.service_account import ServiceAccount
from finops.lib.sentences import truncate

API_URL: Final = "https://bigquery.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/bigquery.readonly"
MAX_BYTES_BILLED: Final = 2 * 1024**4
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_GRANT: Final = """\
gcloud iam service-accounts create finops-console
gcloud projects add-iam-policy-binding PROJECT \\
  --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com --role roles/bigquery.jobUser
bq add-iam-policy-binding --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com \\
  --role roles/bigquery.dataViewer PROJECT:DATASET.VIEW
gcloud iam service-accounts keys create key.json \\
  --iam-account finops-console@PROJECT.iam.gserviceaccount.com"""
_VIEW: Final = """\
CREATE VIEW DATASET.focus AS
SELECT * FROM `gcp_billing_immutable_ID_LOCATION.gcp_billing_export_focus_ID`"""


class BigQueryConfig(ConnectorConfig, frozen=True, kw_only=True):
    """The view, and the key of a service account that may read it."""

    table: Annotated[
        str,
        msgspec.Meta(
            title="Table or view",
            description="With its project and dataset.",
            examples=["my-project.billing.focus"],
            pattern=r"^[a-z0-9.:-]+\.[A-Za-z0-9_]+\.[A-Za-z0-9_$-]+$",
            max_length=300,
        ),
    ]
    key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Service account key",
            description="The whole JSON file.",
            examples=['{"type": "service_account", …}'],
            min_length=50,
            max_length=10_000,
        ),
    ]
    project: Annotated[
        str,
        msgspec.Meta(
            title="Project that pays for the queries",
            description="Left empty: the service account's.",
            pattern=r"^[a-z0-9.:-]*$",
            max_length=100,
        ),
    ] = ""
    location: Annotated[
        str,
        msgspec.Meta(
            title="Location",
            description="Of the dataset.",
            examples=["EU"],
            pattern=r"^[A-Za-z0-9-]*$",
            max_length=40,
        ),
    ] = ""


class BigQuery(SqlConnector[BigQueryConfig]):
    name = "bigquery"
    title = "Google Cloud billing in BigQuery"
    provider = "Google Cloud"
    icon = "brand-google"
    docs_url = "https://cloud.google.com/billing/docs/how-to/export-data-bigquery"
    description = "The FOCUS export, or any view of FOCUS columns. A service account."
    order: ClassVar[int] = 30
    Config = BigQueryConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Export costs", "In Cloud Billing, under Billing export, enable the FOCUS export to BigQuery."
            ),
            SetupStep(
                "Create a view", "Google may change the table's schema; a view stays as it is.", _VIEW, "sql"
            ),
            SetupStep("Create a service account that may read it", "The key goes below.", _GRANT, "sh"),
        )

    def check_title(self, config: BigQueryConfig) -> str:
        return f"Run a query in {config.project or 'the project'} (bigquery.jobs.create)"

    def source(self, config: BigQueryConfig, fetch: Fetch | None = None) -> SqlSource:
        return _Warehouse(config, fetch)

    def bill(self, config: BigQueryConfig, source: SqlSource) -> FocusRelation:
        return FocusRelation(source, f"`{config.table}`")


class _Field(msgspec.Struct, frozen=True):
    name: str
    type: str
    mode: str = "NULLABLE"
    fields: list[_Field] = []


class _Schema(msgspec.Struct, frozen=True):
    fields: list[_Field] = []


class _Job(msgspec.Struct, frozen=True, rename="camel"):
    job_id: str
    location: str = ""


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    """Of a job that is done. `errors` may be warnings; without a schema the job failed by the first of them."""

    job_complete: bool
    job_reference: _Job | None = None
    schema: _Schema | None = None
    errors: list[_Error] = []
    total_rows: str = ""
    rows: list[dict[str, list[dict[str, Any]]]] = []
    page_token: str = ""


class _Warehouse(SqlSource):
    vendor = "BigQuery"
    quote = "`"

    def __init__(self, config: BigQueryConfig, fetch: Fetch | None = None) -> None:
        account = ServiceAccount.read(config.key)
        self._project = path_part(config.project or account.project_id)
        self._location = config.location
        api = HttpApi(
            connector=BigQuery.name,
            vendor=self.vendor,
            base_url=API_URL,
            key_fix="Create a new key of the service account and enter it in this connection.",
            scope_fix=f"{account.client_email} needs BigQuery Job User in the project and BigQuery Data Viewer on "
            f"{config.table}.",
            headers={"Authorization": f"Bearer {account.access_token(SCOPE, BigQuery.name)}"},
            secrets=(config.key,),
        )
        self._api = api.for_fetch(fetch) if fetch else api

    def query(self, statement: str) -> QueryResult:
        """Raises SourceError for a job that fails."""
        body = {
            "query": statement,
            "useLegacySql": False,
            "maxResults": BATCH_ROWS,
            "timeoutMs": 30_000,
            "maximumBytesBilled": str(MAX_BYTES_BILLED),
            "formatOptions": {"useInt64Timestamp": True},
            **({"location": self._location} if self._location else {}),
        }
        path = f"/bigquery/v2/projects/{self._project}/queries"
        first = self._api.post(path, msgspec.json.encode(body), "application/json", _Answer)
        first = self._wait(first)
        if first.schema is None:
            why = truncate(first.errors[0].message, 300) if first.errors else "the job has no result."
            raise SourceError(f"BigQuery does not take the query: {why}", field="table")
        fields = first.schema.fields
        total = int(first.total_rows) if first.total_rows.isdecimal() else None
        return QueryResult([each.name for each in fields], self._batches(first, fields), total)

    def moment(self, expression: str) -> str:
        return f"CAST({expression} AS TIMESTAMP)"

    def exact(self, expression: str) -> str:
        return f"CAST({expression} AS BIGNUMERIC)"

    def _wait(self, answer: _Answer) -> _Answer:
        """The first page, once the job is done. Each request waits at BigQuery itself for half a minute."""
        while not answer.job_complete:
            answer = self._page(answer.job_reference, "")
        return answer

    def _page(self, job: _Job | None, token: str) -> _Answer:
        if job is None:
            raise SourceError("BigQuery named no job for the query. Sync again.")
        path = f"/bigquery/v2/projects/{self._project}/queries/{path_part(job.job_id)}"
        params: list[tuple[str, str | int]] = [("maxResults", BATCH_ROWS), ("timeoutMs", 30_000)]
        params += [("location", job.location)] if job.location else []
        params += [("pageToken", token)] if token else []
        return self._api.get(path, [*params, ("formatOptions.useInt64Timestamp", "true")], _Answer)

    def _batches(self, first: _Answer, fields: Sequence[_Field]) -> Iterator[list[TextRow]]:
        def page_of(token: str) -> _Answer:
            return self._page(first.job_reference, token) if token else first

        for page in self._api.pages(page_of, lambda answer: answer.page_token):
            yield [
                [_text(cell.get("v"), each) for cell, each in zip(row["f"], fields, strict=True)]
                for row in page.rows
            ]


def _text(value: Any, field: _Field) -> str | None:
    plain = _plain(value, field)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain)


def _plain(value: Any, field: _Field) -> Any:
    if field.mode == "REPEATED":
        one = msgspec.structs.replace(field, mode="NULLABLE")
        return [_plain(each.get("v"), one) for each in value or ()]
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
