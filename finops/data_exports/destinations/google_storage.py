"""Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec

from finops.connections.connector import ConnectorConfig, SecretText, SetupStep, shown_for
from finops.connections.google import GoogleBucketConfig, google_credential
from finops.connections.transports.gcs import WRITE_SCOPE, GcsBucket
from finops.data_exports.destination import Destination, Folder

_ACCOUNT: Final = """gcloud iam service-accounts create finops-console-exports
gcloud storage buckets add-iam-policy-binding gs://acme-finops \\
  --member serviceAccount:finops-console-exports@PROJECT.iam.gserviceaccount.com \\
  --role roles/storage.objectUser
gcloud iam service-accounts keys create key.json \\
  --iam-account finops-console-exports@PROJECT.iam.gserviceaccount.com
"""


class GoogleStorageConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A bucket, and the sign-in of this console."""

    bucket: Annotated[
        str,
        msgspec.Meta(
            title="Bucket",
            description="Name, without gs://.",
            examples=["acme-finops"],
            pattern=r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$",
        ),
    ]
    folder: Folder = ""
    access: Annotated[
        Literal["service_account_key", "server_identity"],
        msgspec.Meta(title="Access", description="How the console signs in."),
    ] = "service_account_key"
    key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Service account key",
            description="Contents of the JSON file.",
            examples=['{"type": "service_account", …}'],
            max_length=10_000,
            extra_json_schema=shown_for("access", "service_account_key", required=["service_account_key"]),
        ),
    ] = ""


class GoogleStorageDestination(Destination[GoogleStorageConfig]):
    name = "google_storage"
    title = "Google Cloud Storage"
    icon = "brand-google"
    docs_url = "https://cloud.google.com/storage/docs/access-control/iam-roles"
    description = "A bucket, to query with BigQuery."
    order = 30
    Config = GoogleStorageConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Create a service account with write access",
                "Paste key.json into the form. In the console: IAM & Admin > Service Accounts, then grant Storage Object User "
                "under Permissions of the bucket.",
                _ACCOUNT,
                "sh",
            ),
            SetupStep(
                "Or use the identity of this server",
                "If the console runs with a service account or workload identity and CONNECTION_AMBIENT_IDENTITY is set. Grant "
                "it the same role.",
            ),
        ]

    def open(self, config: GoogleStorageConfig) -> GcsBucket:
        signed = GoogleBucketConfig(bucket=config.bucket, access=config.access, key=config.key)
        return GcsBucket(config.bucket, config.folder, google_credential(signed, WRITE_SCOPE))
