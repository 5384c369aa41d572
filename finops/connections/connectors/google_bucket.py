"""Google Cloud Storage: files of FOCUS or of Google's billing export, such as BigQuery's EXPORT DATA and LiteLLM write."""

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
    description = "Files of FOCUS in a bucket, such as an export from BigQuery or LiteLLM. A service account."
    order = 35
    Config = GoogleBucketFilesConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Write files of a month each",
                "From BigQuery as a scheduled query, a folder a month; replace the folder's files as a whole.",
                _EXPORT,
                "sql",
            ),
            SetupStep(
                "Create a service account that may read the bucket",
                "Paste key.json below. In the console: IAM & Admin, Service Accounts; then the bucket, Permissions, Grant access, "
                "Storage Object Viewer.",
                _ACCOUNT,
                "sh",
            ),
            SetupStep(
                "Or let this server's own identity read it",
                "Where this console runs with a service account or a workload identity, and its operator has set "
                "CONNECTION_AMBIENT_IDENTITY: grant it the same role.",
            ),
            RECOMMENDATIONS_STEP,
        ]

    def _open(self, config: GoogleBucketFilesConfig) -> GcsBucket:
        return open_google_bucket(config)

    def _pattern(self, config: GoogleBucketFilesConfig) -> str:
        return config.pattern
