"""MongoDB Atlas: the FOCUS 1.3 report of each invoice.

An invoice is a billing month. A check lists the invoices (a token and a request per 500 of them); a month's
fingerprint covers the IDs, states, times and amounts of its invoices. A fetch requests the report of each invoice,
waits until it is ready (seconds to minutes), and downloads it from the URL that Atlas gives. Invoices of linked
organizations belong to the connections of those organizations.

Facts are from Atlas's OpenAPI document of 2026-08 (invoices, invoice reports, service accounts). The document allows
any text as the report's type, so the type is a setting.
"""

from __future__ import annotations

import base64
import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, ClassVar, Final

import msgspec

from finops.connections.connector import (
    HEADER_PATTERN,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Fetch,
    SecretText,
    SetupStep,
    SourceError,
    SourceUnavailable,
)
from finops.connections.transports.focus_csv import csv_months
from finops.connections.transports.http import HttpApi, path_part
from finops.connections.transports.pages import digest_of
from finops.costs.focus.normalise import FocusFile
from finops.lib.errors import UserError
from finops.lib.periods import month_start

BASE_URL: Final = "https://cloud.mongodb.com"
_PAGE: Final = 500
_FIRST_WAIT, _LONGEST_WAIT, _ALL_WAITS = 2.0, 30.0, 900.0
"""Seconds between two polls of a report that is not ready, and of all polls together."""


class AtlasConfig(ConnectorConfig, frozen=True):
    """What a person enters."""

    organization_id: Annotated[
        str,
        msgspec.Meta(
            title="Organization ID",
            description="In Atlas under Organization settings.",
            examples=["4888442a3354817a7320eb61"],
            pattern="^[a-f0-9]{24}$",
        ),
    ]
    client_id: Annotated[
        str,
        msgspec.Meta(title="Client ID", examples=["mdb_sa_id_…"], pattern=HEADER_PATTERN, max_length=200),
    ]
    client_secret: Annotated[
        SecretText,
        msgspec.Meta(
            title="Client secret",
            examples=["mdb_sa_sk_…"],
            min_length=10,
            max_length=500,
            pattern=HEADER_PATTERN,
        ),
    ]
    report_type: Annotated[
        str,
        msgspec.Meta(
            title="Report type",
            description="Name of the FOCUS report in Atlas.",
            pattern="^[A-Z0-9_]+$",
            max_length=60,
        ),
    ] = "FOCUS"


class _Invoice(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    start_date: datetime
    status_name: str = ""
    updated: str = ""
    amount_billed_cents: int = 0
    credits_cents: int = 0
    sales_tax_cents: int = 0
    subtotal_cents: int = 0

    @property
    def month(self) -> date:
        return month_start(self.start_date.astimezone(UTC).date())


class _InvoicePage(msgspec.Struct, frozen=True):
    results: list[_Invoice] = []


class _Report(msgspec.Struct, frozen=True, rename="camel"):
    report_id: str
    state: str = ""
    download_url: str | None = None
    failure_reason: str | None = None


class _Token(msgspec.Struct, frozen=True):
    access_token: str


class MongoDbAtlas(Connector[AtlasConfig]):
    name = "mongodb_atlas"
    title = "MongoDB Atlas"
    provider = "MongoDB"
    icon = "leaf"
    docs_url = "https://www.mongodb.com/docs/atlas/billing/focus-report/"
    description = "FOCUS 1.3 report of every invoice."
    order: ClassVar[int] = 60
    changes_while_read = True
    Config = AtlasConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create a service account",
                "In Atlas, open Organization > Applications > Service accounts. Create one with the role "
                "Organization Billing Viewer. Note its client ID and secret.",
            ),
            SetupStep(
                "Allow this server's address",
                "If the organization requires an IP access list for the Administration API, add the public IP "
                "address of this server.",
            ),
            SetupStep("Enter the values", "The secret is stored encrypted and never shown again."),
        )

    def check(self, config: AtlasConfig) -> list[CheckFinding]:
        try:
            api = _with_token(_api(config).for_check(), config)
        except UserError as error:
            return [CheckFinding("Sign in with the service account", False, error.message)]
        signed_in = CheckFinding("Sign in with the service account", True)
        try:
            _invoices(api, config)
        except UserError as error:
            return [signed_in, CheckFinding("List invoices", False, error.message)]
        return [signed_in, CheckFinding("List invoices", True)]

    def months(self, config: AtlasConfig) -> list[BillMonth]:
        states: dict[date, list[str]] = defaultdict(list)
        for invoice in _invoices(_with_token(_api(config), config), config):
            states[invoice.month].append(repr(invoice))
        return [BillMonth(month, digest_of(states[month])) for month in sorted(states, reverse=True)]

    def fetch(self, config: AtlasConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        api = _with_token(_api(config).for_fetch(fetch), config)
        files: list[FocusFile] = []
        for invoice in _invoices(api, config):
            if invoice.month == month.month:
                path = fetch.folder / f"atlas-{month.month:%Y-%m}-{len(files) + 1}.csv"
                api.download(path, url=_report_url(api, config, invoice))
                _check_months(path, invoice)
                files.append(FocusFile(path, path.name))
        return [file for file in files if csv_months(file.path)]


def _api(config: AtlasConfig) -> HttpApi:
    return HttpApi(
        connector=MongoDbAtlas.name,
        vendor="MongoDB Atlas",
        base_url=BASE_URL,
        secrets=(config.client_secret,),
        key_fix="Create a new secret of the service account in Atlas and enter it in this connection.",
        scope_fix="Grant the service account Organization Billing Viewer, and add this server's IP address to the "
        "API access list if one is required.",
    )


def _with_token(api: HttpApi, config: AtlasConfig) -> HttpApi:
    """Return the API with an access token, which is valid for an hour. Raises as `HttpApi.get` does."""
    credentials = base64.b64encode(f"{config.client_id}:{config.client_secret}".encode()).decode()
    form = "application/x-www-form-urlencoded"
    basic = dataclasses.replace(
        api, headers={"Authorization": f"Basic {credentials}"}, secrets=(*api.secrets, credentials)
    )
    token = basic.post("/api/oauth/token", b"grant_type=client_credentials", form, _Token).access_token
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.atlas.2025-03-12+json"}
    return dataclasses.replace(basic, headers=headers, secrets=(*basic.secrets, token))


def _path(config: AtlasConfig, *parts: str) -> str:
    return "/".join(["/api/atlas/v2/orgs", config.organization_id, "invoices", *map(path_part, parts)])


def _invoices(api: HttpApi, config: AtlasConfig) -> list[_Invoice]:
    """Return all invoices of the organization. Pages are numbered; the last page is not full."""

    def page_of(number: str) -> _InvoicePage:
        params = [("itemsPerPage", _PAGE), ("pageNum", number or 1), ("viewLinkedInvoices", "false")]
        return api.get(_path(config), params, _InvoicePage)

    numbers = iter(range(2, 1_000))
    pages = api.pages(page_of, lambda page: f"{next(numbers)}" if len(page.results) == _PAGE else "")
    return [invoice for page in pages for invoice in page.results]


def _report_url(api: HttpApi, config: AtlasConfig, invoice: _Invoice) -> str:
    """Return the URL of an invoice's report once it is ready. Raises SourceError if Atlas fails to create it,
    SourceUnavailable after a quarter of an hour."""
    body = {"reportType": config.report_type, "reportFormat": "CSV"}
    path = _path(config, invoice.id, "reports")
    report = api.post(path, msgspec.json.encode(body), "application/vnd.atlas.2025-03-12+json", _Report)
    pause, waited = _FIRST_WAIT, 0.0
    while not report.download_url:
        if report.failure_reason or "FAIL" in report.state.upper():
            raise SourceError(
                f"MongoDB Atlas failed to create the report: {report.failure_reason or report.state}"
            )
        if waited >= _ALL_WAITS:
            raise SourceUnavailable("MongoDB Atlas is still creating the report. The next sync tries again.")
        api.wait(pause)
        waited, pause = waited + pause, min(pause * 2, _LONGEST_WAIT)
        report = api.get(f"{path}/{path_part(report.report_id)}", [], _Report)
    return report.download_url


def _check_months(path: Path, invoice: _Invoice) -> None:
    """Raises SourceError for a report with another month than its invoice's, because it would replace that month's lines."""
    other_months = sorted(f"{month:%Y-%m}" for month in csv_months(path) if month != invoice.month)
    if other_months:
        raise SourceError(
            f"The report of {invoice.month:%Y-%m} has lines of {', '.join(other_months)}, so it is not imported."
        )
