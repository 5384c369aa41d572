"""Databricks: an account's usage (`system.billing.usage`) at list prices, by the SQL Statement Execution API.

Databricks publishes no billed amounts: discounts are only on the invoice. So cost is usage times the list price at that time, as
ChargeDescription and the wizard say; a person can enter a view with negotiated prices instead. Prices of one currency are read,
since usage would otherwise count once per currency. Usage without a price has a cost of 0 (FOCUS allows no null there), ListCost
and ListUnitPrice null, and the reason in ChargeDescription; *Test connection* and each month of a sync give the number of these
lines. Retractions and restatements are separate lines with ChargeClass Correction; the sum is correct.
"""

from __future__ import annotations

import base64
import dataclasses
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, ClassVar, Final
from urllib.parse import parse_qsl, urlencode

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq

from finops.connections.connector import (
    BillMonth,
    CheckFinding,
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
from finops.costs.focus.normalise import FocusFile
from finops.lib.errors import UserError
from finops.lib.sentences import join_with_and

STATEMENT_SECONDS: Final = 1_800
POLL_SECONDS: Final = 2.0
MAX_SKUS: Final = 5
"""Most SKUs that a note names."""
_STATEMENTS: Final = "/api/2.0/sql/statements"

LIST_PRICE_LINES: Final = """(
SELECT COALESCE(u.usage_quantity * p.pricing.effective_list.default, 0) AS BilledCost,
       COALESCE(u.usage_quantity * p.pricing.effective_list.default, 0) AS EffectiveCost,
       u.usage_quantity * p.pricing.effective_list.default AS ListCost,
       p.pricing.effective_list.default AS ListUnitPrice,
       '{currency}' AS BillingCurrency,
       date_trunc('MONTH', u.usage_date) AS BillingPeriodStart,
       u.usage_start_time AS ChargePeriodStart,
       u.usage_end_time AS ChargePeriodEnd,
       'Usage' AS ChargeCategory,
       CASE WHEN u.record_type <> 'ORIGINAL' THEN 'Correction' END AS ChargeClass,
       CASE WHEN p.pricing.effective_list.default IS NULL THEN 'No list price in {currency}: cost unknown, 0 here'
            ELSE 'At list price; discounts are on the invoice' END AS ChargeDescription,
       'Usage-Based' AS ChargeFrequency,
       'Databricks' AS ProviderName,
       u.billing_origin_product AS ServiceName,
       'Analytics' AS ServiceCategory,
       u.sku_name AS SkuId,
       u.usage_type AS SkuMeter,
       u.usage_quantity AS ConsumedQuantity,
       u.usage_unit AS ConsumedUnit,
       u.workspace_id AS SubAccountId,
       u.account_id AS BillingAccountId,
       u.cloud AS x_Cloud,
       to_json(u.custom_tags) AS Tags
FROM system.billing.usage AS u
LEFT JOIN system.billing.list_prices AS p
  ON p.currency_code = '{currency}' AND p.sku_name = u.sku_name AND p.cloud = u.cloud AND p.usage_unit = u.usage_unit
 AND u.usage_start_time >= p.price_start_time
 AND (p.price_end_time IS NULL OR u.usage_start_time < p.price_end_time)
) AS focus_lines"""

_PRICED: Final = """\
SELECT COUNT(*) AS lines, COUNT(ListUnitPrice) AS priced, MIN(CASE WHEN ListUnitPrice IS NULL THEN SkuId END) AS sku
FROM {relation}"""
_CURRENCIES: Final = "SELECT DISTINCT currency_code FROM system.billing.list_prices ORDER BY 1"

_GRANT: Final = """\
GRANT USE SCHEMA ON SCHEMA system.billing TO `APPLICATION_ID`;
GRANT SELECT ON SCHEMA system.billing TO `APPLICATION_ID`;"""


class DatabricksConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A workspace, a service principal and a SQL warehouse."""

    host: Annotated[
        str,
        msgspec.Meta(
            title="Workspace address",
            examples=["https://dbc-a1b2345c-d6e7.cloud.databricks.com"],
            pattern=r"^https://[A-Za-z0-9.-]+/?$",
            max_length=300,
        ),
    ]
    warehouse_id: Annotated[
        str,
        msgspec.Meta(
            title="SQL warehouse ID", examples=["1a2b3c4d5e6f7a8b"], pattern=r"^[A-Za-z0-9]+$", max_length=64
        ),
    ]
    client_id: Annotated[
        str,
        msgspec.Meta(
            title="Application ID",
            description="Of the service principal.",
            examples=["4f1c2d3e-0a1b"],
            min_length=1,
            max_length=100,
        ),
    ]
    client_secret: Annotated[SecretText, msgspec.Meta(title="OAuth secret", min_length=8, max_length=500)]
    view: Annotated[
        str,
        msgspec.Meta(
            title="View",
            description="A view with FOCUS columns, for example with negotiated prices. Leave empty for usage at list prices.",
            pattern=r"^([A-Za-z0-9_]+\.[A-Za-z0-9_]+\.[A-Za-z0-9_]+)?$",
            max_length=300,
        ),
    ] = ""
    currency: Annotated[
        str,
        msgspec.Meta(
            title="Currency of list prices",
            description="Usage without a list price in this currency has cost 0 and a note in its description.",
            examples=["USD"],
            pattern=r"^[A-Z]{3}$",
        ),
    ] = "USD"


class Databricks(SqlConnector[DatabricksConfig, SqlSource]):
    name = "databricks"
    title = "Databricks"
    provider = "Databricks"
    icon = "stack-2"
    docs_url = "https://docs.databricks.com/aws/en/admin/system-tables/billing"
    description = "Usage at list prices, or a view with FOCUS columns."
    order: ClassVar[int] = 61
    Config = DatabricksConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create a service principal",
                "In the account console under User management, add a service principal with an OAuth secret. Grant "
                "it Can use on a SQL warehouse.",
            ),
            SetupStep(
                "Grant read access to the billing tables",
                "Run in the SQL editor of the workspace.",
                _GRANT,
                "sql",
            ),
        )

    def check_title(self, config: DatabricksConfig) -> str:
        return f"Run a query on warehouse {config.warehouse_id} (Can use)"

    def source(self, config: DatabricksConfig, fetch: Fetch | None = None) -> SqlSource:
        return _Warehouse(config, fetch)

    def bill(self, config: DatabricksConfig, source: SqlSource) -> FocusRelation:
        return FocusRelation(source, _relation(config))

    def check(self, config: DatabricksConfig) -> list[CheckFinding]:
        findings = super().check(config)
        if not config.view and all(each.is_ok for each in findings):
            findings.append(self._price_finding(config))
        return findings

    def fetch(self, config: DatabricksConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        files = super().fetch(config, month, fetch)
        if not config.view:
            fetch.notes += [note for file in files for note in _price_notes(file.path, config.currency)]
        return files

    def _price_finding(self, config: DatabricksConfig) -> CheckFinding:
        """Return a finding about usage without a list price. It is no failure while other lines have prices, because
        the lines are read."""
        title = f"Find list prices in {config.currency}"
        source = self.source(config)
        try:
            lines, priced, sku = next(source.query(_PRICED.format(relation=_relation(config))).rows())
            currencies = [row[0] for row in source.query(_CURRENCIES).rows()] if priced == "0" else []
        except UserError as error:
            return CheckFinding(title, False, error.message)
        if currencies:
            there = join_with_and([each or "" for each in currencies])
            return CheckFinding(
                title, False, f"The price list only has {there}. Choose it in this connection."
            )
        if lines == priced:
            return CheckFinding(title, True)
        missing = int(lines or 0) - int(priced or 0)
        return CheckFinding(f"{title}: {missing:,} lines have none and cost 0, such as {sku}", True)


def _relation(config: DatabricksConfig) -> str:
    return config.view or LIST_PRICE_LINES.format(currency=config.currency)


def _price_notes(path: Path, currency: str) -> list[str]:
    """Return a note with the number of a month's lines without a list price. Memory: a batch."""
    lines, skus = 0, set[str]()
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["ListUnitPrice", "SkuId"]):
            unpriced = batch.filter(pc.is_null(batch["ListUnitPrice"]))
            lines += len(unpriced)
            skus.update(str(each) for each in pc.unique(unpriced["SkuId"]).to_pylist())
    if not lines:
        return []
    shown = join_with_and(
        sorted(skus)[:MAX_SKUS] + ([f"{len(skus) - MAX_SKUS} more"] if len(skus) > MAX_SKUS else [])
    )
    return [f"{lines:,} lines have no list price in {currency} and cost 0: {shown}."]


class _Token(msgspec.Struct, frozen=True):
    access_token: str


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _Status(msgspec.Struct, frozen=True):
    state: str
    error: _Error = _Error()


class _Column(msgspec.Struct, frozen=True):
    name: str
    type_name: str = ""


class _Schema(msgspec.Struct, frozen=True):
    columns: list[_Column] = []


class _Manifest(msgspec.Struct, frozen=True):
    schema: _Schema = _Schema()
    total_row_count: int | None = None


class _Link(msgspec.Struct, frozen=True):
    external_link: str
    next_chunk_internal_link: str = ""


class _Chunk(msgspec.Struct, frozen=True):
    external_links: list[_Link] = []


class _Answer(msgspec.Struct, frozen=True):
    statement_id: str
    status: _Status
    manifest: _Manifest = _Manifest()
    result: _Chunk = _Chunk()


class _Warehouse(SqlSource):
    vendor = "Databricks"
    quote = "`"

    def __init__(self, config: DatabricksConfig, fetch: Fetch | None = None) -> None:
        self._config = config
        api = HttpApi(
            connector=Databricks.name,
            vendor=self.vendor,
            base_url=config.host,
            key_fix="Create a new OAuth secret of the service principal and enter it in this connection.",
            scope_fix="Give the service principal Can use on the warehouse, and SELECT on what it reads.",
            secrets=(config.client_secret,),
        )
        if fetch:
            api = api.for_fetch(fetch)
        self._api = dataclasses.replace(api, token=RenewableToken(lambda: _token(api, config)))

    def query(self, statement: str) -> QueryResult:
        """Raises SourceError for a statement that fails, SourceUnavailable for a statement that takes too long."""
        body = {
            "warehouse_id": self._config.warehouse_id,
            "statement": statement,
            "wait_timeout": "30s",
            "format": "JSON_ARRAY",
            "disposition": "EXTERNAL_LINKS",
        }
        answer = self._api.post(f"{_STATEMENTS}/", msgspec.json.encode(body), "application/json", _Answer)
        deadline = time.monotonic() + STATEMENT_SECONDS
        while answer.status.state in ("PENDING", "RUNNING"):
            if time.monotonic() > deadline:
                raise SourceUnavailable(
                    f"The query took longer than {STATEMENT_SECONDS // 60} minutes at Databricks. Use a larger warehouse."
                )
            self._api.progress(0)
            sleep(POLL_SECONDS)
            answer = self._api.get(f"{_STATEMENTS}/{path_part(answer.statement_id)}", (), _Answer)
        if answer.status.state != "SUCCEEDED":
            why = answer.status.error.message[:300] or answer.status.state
            raise SourceError(f"Databricks rejected the query: {why}", field="view")
        return QueryResult(
            [each.name for each in answer.manifest.schema.columns],
            self._batches(answer.result),
            answer.manifest.total_row_count,
            [each.type_name for each in answer.manifest.schema.columns],
        )

    def moment(self, expression: str) -> str:
        return f"CAST({expression} AS TIMESTAMP)"

    def exact(self, expression: str) -> str:
        return f"CAST({expression} AS DECIMAL(38, 18))"

    def _batches(self, chunk: _Chunk) -> Iterator[list[TextRow]]:
        """Yield the batches of a result. Each chunk is a file of some 20 MB at a URL that Databricks gives; one is in
        memory at a time."""

        def chunk_of(link: str) -> _Chunk:
            return self._chunk(link) if link else chunk

        def link_of(chunk: _Chunk) -> str:
            return chunk.external_links[0].next_chunk_internal_link if chunk.external_links else ""

        for page in self._api.pages(chunk_of, link_of):
            for link in page.external_links:
                yield self._rows(link.external_link)

    def _chunk(self, link: str) -> _Chunk:
        path, _mark, query = link.partition("?")
        if not path.startswith(f"{_STATEMENTS}/"):
            raise SourceError("Databricks returned an unexpected next chunk. Sync again.")
        return self._api.get(path, parse_qsl(query), _Chunk)

    def _rows(self, url: str) -> list[TextRow]:
        with TemporaryDirectory() as folder:
            file = Path(folder, "chunk.json")
            self._api.download(file, url=url, accept="application/json")
            try:
                return list(msgspec.json.decode(file.read_bytes(), type=list[list[str | None]]))
            except msgspec.DecodeError as error:
                raise SourceError("Databricks returned rows in an unexpected format. Sync again.") from error


def _token(api: HttpApi, config: DatabricksConfig) -> str:
    basic = base64.b64encode(f"{config.client_id}:{config.client_secret}".encode()).decode()
    asking = dataclasses.replace(api, headers={"Authorization": f"Basic {basic}"})
    body = urlencode({"grant_type": "client_credentials", "scope": "all-apis"}).encode()
    return asking.post("/oidc/v1/token", body, "application/x-www-form-urlencoded", _Token).access_token
