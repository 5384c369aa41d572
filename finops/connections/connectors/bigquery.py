"""BigQuery: Google Cloud Billing's exports (FOCUS, standard or detailed usage cost), or any table or view with FOCUS
columns, by BigQuery's REST API.

A check reads four columns of the table. The columns of the table decide its kind.
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
    SourceError,
)
from finops.connections.google import RECOMMENDATIONS_STEP
from finops.connections.transports.sql import FocusRelation, SqlBill, SqlConnector, is_focus
from finops.connections.vendor_apis.bigquery import BigQueryWarehouse
from finops.connections.vendor_apis.google_billing import GoogleBillingExport, is_usage_cost_export

_GRANT: Final = """\
gcloud iam service-accounts create finops-console
gcloud projects add-iam-policy-binding PROJECT \\
  --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com --role roles/bigquery.jobUser
bq add-iam-policy-binding --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com \\
  --role roles/bigquery.dataViewer PROJECT:DATASET.TABLE
gcloud iam service-accounts keys create key.json \\
  --iam-account finops-console@PROJECT.iam.gserviceaccount.com"""
_VIEW: Final = """\
CREATE VIEW DATASET.focus AS
SELECT * FROM `gcp_billing_immutable_ID_LOCATION.gcp_billing_export_focus_ID`"""


ServiceAccountKey = Annotated[
    SecretText,
    msgspec.Meta(
        title="Service account key",
        description="Contents of the JSON file.",
        examples=['{"type": "service_account", …}'],
        min_length=50,
        max_length=10_000,
    ),
]
QueryProject = Annotated[
    str,
    msgspec.Meta(
        title="Query project",
        description="Leave empty for the project of the service account.",
        pattern=r"^[a-z0-9.:-]*$",
        max_length=100,
    ),
]
DatasetLocation = Annotated[
    str,
    msgspec.Meta(
        title="Location",
        description="Location of the dataset.",
        examples=["EU"],
        pattern=r"^[A-Za-z0-9-]*$",
        max_length=40,
    ),
]


class BigQueryConfig(ConnectorConfig, frozen=True, kw_only=True):
    """The view, and the key of a service account that may read it."""

    table: Annotated[
        str,
        msgspec.Meta(
            title="Table or view",
            description="Including project and dataset.",
            examples=["my-project.billing.gcp_billing_export_resource_v1_0A1B2C_3D4E5F_678901"],
            pattern=r"^[a-z0-9.:-]+\.[A-Za-z0-9_]+\.[A-Za-z0-9_$-]+$",
            max_length=300,
        ),
    ]
    key: ServiceAccountKey
    project: QueryProject = ""
    location: DatasetLocation = ""


class BigQuery(SqlConnector[BigQueryConfig, BigQueryWarehouse]):
    name = "bigquery"
    title = "Google Cloud billing in BigQuery"
    provider = "Google Cloud"
    icon = "brand-google"
    docs_url = "https://cloud.google.com/billing/docs/how-to/export-data-bigquery"
    description = "FOCUS, detailed or standard export, or any view with FOCUS columns."
    order: ClassVar[int] = 30
    Config = BigQueryConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Export costs",
                "In Cloud Billing > Billing export, enable the detailed usage cost export to BigQuery, or the FOCUS export. "
                "The standard export has no resources.",
            ),
            SetupStep(
                "For the FOCUS export, create a view",
                "A view stays stable when Google changes the table.",
                _VIEW,
                "sql",
            ),
            SetupStep(
                "Create a service account with read access", "Paste key.json into the form.", _GRANT, "sh"
            ),
            RECOMMENDATIONS_STEP,
        )

    def check_title(self, config: BigQueryConfig) -> str:
        return f"Run a query in {config.project or 'the project'} (bigquery.jobs.create)"

    def source(self, config: BigQueryConfig, fetch: Fetch | None = None) -> BigQueryWarehouse:
        return BigQueryWarehouse(config.key, config.project, config.location, config.table, fetch)

    def bill(self, config: BigQueryConfig, source: BigQueryWarehouse) -> SqlBill:
        """Return the kind of bill by the table's columns. Raises SourceError for unknown columns."""
        relation = f"`{config.table}`"
        fields = source.fields(relation)
        if is_focus([each.name for each in fields]):
            return FocusRelation(source, relation)
        if is_usage_cost_export(fields):
            return GoogleBillingExport(source, config.table, fields)
        raise SourceError(
            f"{config.table} is neither the FOCUS export (it lacks BilledCost) nor the standard or detailed usage cost export (it "
            "lacks cost, service, sku or usage_start_time). Name one of these, or a view of FOCUS columns.",
            field="table",
        )
