"""Usage from BigQuery: a query that returns customer, metric, quantity and time, by BigQuery's REST API.

A check and the fetch of each month run the query: partition its tables by time, or query a table with daily sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from finops.connections.connector import ConnectorConfig, Fetch, SetupStep
from finops.connections.connectors.bigquery import DatasetLocation, QueryProject, ServiceAccountKey
from finops.connections.transports.sql import SqlSource
from finops.connections.transports.sql_usage import QUERY_FIELD, UsageQuery, UsageSqlConnector
from finops.connections.vendor_apis.bigquery import BigQueryWarehouse

_GRANT: Final = """\
gcloud iam service-accounts create finops-console
gcloud projects add-iam-policy-binding PROJECT \\
  --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com --role roles/bigquery.jobUser
bq add-iam-policy-binding --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com \\
  --role roles/bigquery.dataViewer PROJECT:DATASET.TABLE
gcloud iam service-accounts keys create key.json \\
  --iam-account finops-console@PROJECT.iam.gserviceaccount.com"""
_QUERY: Final = """\
SELECT customer_id, 'orders' AS metric, COUNT(*) AS quantity,
       TIMESTAMP_TRUNC(created_at, DAY) AS time, region
FROM `PROJECT.sales.orders` GROUP BY customer_id, time, region"""


class UsageBigQueryConfig(ConnectorConfig, frozen=True, kw_only=True):
    """The key of a service account, and the query of usage."""

    key: ServiceAccountKey
    query: UsageQuery
    project: QueryProject = ""
    location: DatasetLocation = ""


class _Warehouse(BigQueryWarehouse):
    field = QUERY_FIELD


class UsageBigQuery(UsageSqlConnector[UsageBigQueryConfig]):
    name = "usage_bigquery"
    title = "BigQuery usage"
    provider = "Google Cloud"
    icon = "brand-google"
    docs_url = "https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query"
    description = "A query that returns customer, metric, quantity and time."
    order = 804
    dialect = "bigquery"
    month_sql = "FORMAT_TIMESTAMP('%Y-%m', {}, 'UTC')"
    Config = UsageBigQueryConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create a service account with read access", "Paste key.json into the form.", _GRANT, "sh"
            ),
            SetupStep(
                "Write the query",
                "One row per customer, metric and time. Sum by day: a changed row replaces the previous one. BigQuery charges for what "
                "it reads each time, so query a table that is small or partitioned by time.",
                _QUERY,
                "sql",
            ),
        )

    def check_title(self, config: UsageBigQueryConfig) -> str:
        return f"Run a query in {config.project or 'the project'} (bigquery.jobs.create)"

    def source(self, config: UsageBigQueryConfig, fetch: Fetch | None = None) -> SqlSource:
        return _Warehouse(config.key, config.project, config.location, "the tables of the query", fetch)

    def query_of(self, config: UsageBigQueryConfig) -> str:
        return config.query
