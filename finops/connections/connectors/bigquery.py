"""BigQuery: a table or view of FOCUS columns, such as the one that Google Cloud Billing exports, by BigQuery's REST API.

A look reads four columns of the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final

import msgspec

from finops.connections.connector import (
    ConnectorConfig,
    Fetch,
    SecretText,
    SetupStep,
)
from finops.connections.transports.sql import FocusRelation, SqlConnector
from finops.connections.vendor_apis.bigquery import BigQueryWarehouse

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


class BigQuery(SqlConnector[BigQueryConfig, BigQueryWarehouse]):
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

    def source(self, config: BigQueryConfig, fetch: Fetch | None = None) -> BigQueryWarehouse:
        return BigQueryWarehouse(config.key, config.project, config.location, config.table, fetch)

    def bill(self, config: BigQueryConfig, source: BigQueryWarehouse) -> FocusRelation:
        return FocusRelation(source, f"`{config.table}`")
