"""Google Cloud Storage: files in FOCUS or Google's billing export, such as files that BigQuery's EXPORT DATA and LiteLLM write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from finops.connections.connector import SetupStep
from finops.connections.google import RECOMMENDATIONS_STEP, GoogleBucketConfig, open_google_bucket
from finops.connections.pattern_files import DefaultCurrency, Pattern, PatternConnector
from finops.connections.transports.gcs import ROLE, GcsBucket

_EXPORT: Final = """EXPORT DATA OPTIONS (
  uri = 'gs://acme-billing/focus/2026/05/*.parquet',
  format = 'PARQUET', compression = 'SNAPPY', overwrite = true
) AS
SELECT * FROM `PROJECT.DATASET.focus`
WHERE BillingPeriodStart >= TIMESTAMP '2026-05-01' AND BillingPeriodStart < TIMESTAMP '2026-06-01';
"""
_ACCOUNT: Final = f"""gcloud iam service-accounts create finops-console
gcloud storage buckets add-iam-policy-binding gs://acme-billing \\
  --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com \\
  --role {ROLE}
gcloud iam service-accounts keys create key.json \\
  --iam-account finops-console@PROJECT.iam.gserviceaccount.com
"""


class GoogleBucketFilesConfig(GoogleBucketConfig, frozen=True, kw_only=True):
    """A bucket, and which files in it."""

    pattern: Pattern = "**/*"
    default_currency: DefaultCurrency = ""


class GoogleBucket(PatternConnector[GoogleBucketFilesConfig]):
    name = "google_bucket"
    title = "Google Cloud Storage"
    provider = "Google Cloud"
    icon = "brand-google"
    docs_url = "https://cloud.google.com/bigquery/docs/exporting-data"
    description = "FOCUS files in a bucket, for example exported from BigQuery."
    order = 35
    Config = GoogleBucketFilesConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Write one folder per month",
                "For example with a scheduled query in BigQuery. Replace all files of a month together.",
                _EXPORT,
                "sql",
            ),
            SetupStep(
                "Create a service account with read access",
                "Paste key.json into the form. In the console: IAM & Admin > Service Accounts, then grant Storage "
                "Object Viewer under Permissions of the bucket.",
                _ACCOUNT,
                "sh",
            ),
            SetupStep(
                "Or use the identity of this server",
                "If the console runs with a service account or workload identity and CONNECTION_AMBIENT_IDENTITY is "
                "set. Grant it the same role.",
            ),
            RECOMMENDATIONS_STEP,
        ]

    def _open(self, config: GoogleBucketFilesConfig) -> GcsBucket:
        return open_google_bucket(config)

    def _pattern(self, config: GoogleBucketFilesConfig) -> str:
        return config.pattern
