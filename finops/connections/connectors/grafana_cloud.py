"""Grafana Cloud: the FOCUS dataset of an organization.

`GET /api/orgs/<organization>/focus` returns one CSV of the current and the previous month. There is no listing, so a
check downloads the file (kilobytes; some megabytes for a large organization), and a month's fingerprint is the digest
of its lines. Months that are no longer in the file stay as they were last read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
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
)
from finops.connections.transports.focus_csv import csv_months, write_csv_month
from finops.connections.transports.focus_rows import file_of
from finops.connections.transports.http import HttpApi, RequestRefusal, path_part
from finops.costs.focus.normalise import FocusFile
from finops.lib.errors import UserError

BASE_URL: Final = "https://grafana.com"
SCOPE: Final = "org-billing-focus:read"


class GrafanaConfig(ConnectorConfig, frozen=True):
    """What a person enters."""

    organization: Annotated[
        str,
        msgspec.Meta(
            title="Organization",
            description="Last part of the portal's address: grafana.com/orgs/acme.",
            examples=["acme"],
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
            max_length=100,
        ),
    ]
    token: Annotated[
        SecretText,
        msgspec.Meta(
            title="Token",
            description=f"Of an access policy with the scope {SCOPE}.",
            examples=["glc_…"],
            min_length=20,
            max_length=2_000,
            pattern=HEADER_PATTERN,
        ),
    ]


class GrafanaCloud(Connector[GrafanaConfig]):
    name = "grafana_cloud"
    title = "Grafana Cloud"
    provider = "Grafana Labs"
    icon = "chart-dots"
    docs_url = "https://grafana.com/docs/grafana-cloud/cost-management-and-billing/focus/"
    description = "FOCUS dataset of an organization."
    order: ClassVar[int] = 61
    changes_while_read = True
    Config = GrafanaConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create an access policy",
                "In the Grafana Cloud portal, open Security > Access policies. Create one for the organization with this scope.",
                snippet=SCOPE,
            ),
            SetupStep("Add a token", "Add a token to the policy. Note when it expires."),
            SetupStep(
                "Enter the organization and token",
                "The token is stored encrypted and never shown again.",
            ),
        )

    def check(self, config: GrafanaConfig) -> list[CheckFinding]:
        title = f"Read the FOCUS dataset of {config.organization}"
        try:
            _months(_api(config).for_check(), config)
        except UserError as error:
            return [CheckFinding(title, False, error.message)]
        return [CheckFinding(title, True)]

    def months(self, config: GrafanaConfig) -> list[BillMonth]:
        return _months(_api(config), config)

    def fetch(self, config: GrafanaConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        whole = fetch.folder / "all.csv"
        _download(_api(config).for_fetch(fetch), config, whole)
        target = fetch.folder / f"grafana-{month.month:%Y-%m}.csv"
        rows = write_csv_month(whole, month.month, target)
        whole.unlink()
        return file_of(target, rows)


def _api(config: GrafanaConfig) -> HttpApi:
    return HttpApi(
        connector=GrafanaCloud.name,
        vendor="Grafana Cloud",
        base_url=BASE_URL,
        headers={"Authorization": f"Bearer {config.token}"},
        secrets=(config.token,),
        key_fix="Add a new token to the access policy in the Grafana Cloud portal and enter it in this connection.",
        scope_fix=f"Add the scope {SCOPE} to its access policy.",
    )


def _months(api: HttpApi, config: GrafanaConfig) -> list[BillMonth]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "focus.csv")
        _download(api, config, path)
        months = csv_months(path)
    return [BillMonth(month, months[month].digest) for month in sorted(months, reverse=True)]


def _download(api: HttpApi, config: GrafanaConfig, path: Path) -> None:
    try:
        api.download(path, path=f"/api/orgs/{path_part(config.organization)}/focus", accept="text/csv")
    except RequestRefusal as error:
        if error.status != 404:
            raise
        raise RequestRefusal(
            f"Grafana Cloud has no organization {config.organization}, or the token belongs to another one. Check both.",
            404,
        ) from error
