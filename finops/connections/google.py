"""Common parts of connectors that read Google Cloud Storage: settings, sign-in, and the bucket."""

from __future__ import annotations

import time
from datetime import UTC
from typing import Annotated, Final, Literal

import msgspec
from django.conf import settings

from finops.connections.connector import (
    AccessError,
    ConnectorConfig,
    SecretText,
    SetupStep,
    SourceError,
    shown_for,
)
from finops.connections.pattern_files import FilesFolder
from finops.connections.transports.gcs import CONNECTOR, SCOPE, GcsBucket
from finops.connections.transports.rest_bucket import BearerToken, RestCredential
from finops.connections.vendor_apis.service_account import GoogleServiceAccount
from finops.lib.extras import require_extra

TOKEN_SECONDS: Final = 3_600
RECOMMENDATIONS_STEP: Final = SetupStep(
    "Recommendations of Google Recommender (optional)",
    "Let the service account read those of each project, which then count among Savings; the last line is for commitments of "
    "the billing account.",
    """\
gcloud services enable recommender.googleapis.com --project PROJECT
gcloud projects add-iam-policy-binding BILLED_PROJECT \\
  --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com --role roles/recommender.viewer
gcloud billing accounts add-iam-policy-binding BILLING_ACCOUNT \\
  --member serviceAccount:finops-console@PROJECT.iam.gserviceaccount.com --role roles/recommender.billingAccountCudViewer
""",
    "sh",
)


class GoogleBucketConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A bucket, and how this console signs in."""

    bucket: Annotated[
        str,
        msgspec.Meta(
            title="Bucket",
            description="Name, without gs://.",
            examples=["acme-billing"],
            pattern=r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$",
        ),
    ]
    prefix: FilesFolder = ""
    access: Annotated[
        Literal["service_account_key", "server_identity"],
        msgspec.Meta(
            title="Access",
            description="How the console signs in. Its own identity is a workload identity or the service account of "
            "its machine.",
        ),
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


def open_google_bucket(config: GoogleBucketConfig) -> GcsBucket:
    """Return the bucket, without a request. Raises AccessError and SourceError for an invalid credential."""
    return GcsBucket(config.bucket, config.prefix, google_credential(config))


def google_credential(
    config: GoogleBucketConfig, scope: str = SCOPE, connector: str = CONNECTOR
) -> RestCredential:
    """Return the config's credential for an API with this scope; `connector` as in CONNECTOR_BASE_URLS. Raises
    AccessError and SourceError for an invalid credential."""
    if config.access == "service_account_key":
        if not config.key:
            raise SourceError("Paste the key of the service account.", field="key")
        return ServiceAccountToken(GoogleServiceAccount.read(config.key), scope, connector)
    if not settings.CONNECTION_AMBIENT_IDENTITY:
        raise AccessError(
            "The console's own identity is turned off for connections. Use a service account key, or ask the "
            "operator to set CONNECTION_AMBIENT_IDENTITY.",
            field="access",
        )
    return GoogleServerIdentity(scope)


class ServiceAccountToken(BearerToken):
    """A token of a service account's key file. The signed assertion is sent only to Google's own address, whatever
    the file's `token_uri` is."""

    def __init__(self, account: GoogleServiceAccount, scope: str = SCOPE, connector: str = CONNECTOR) -> None:
        super().__init__()
        self._account, self._scope, self._connector = account, scope, connector
        self.principal = account.client_email

    def _sign_in(self) -> tuple[str, float]:
        token = self._account.access_token(self._scope, self._connector)
        return token, time.time() + TOKEN_SECONDS


class GoogleServerIdentity(BearerToken):
    """Application default credentials: workload identity federation, or the service account of the machine."""

    principal = "this server's identity"

    def __init__(self, scope: str = SCOPE) -> None:
        super().__init__()
        self._scope = scope

    def _sign_in(self) -> tuple[str, float]:
        require_extra("This server's identity at Google Cloud")
        import google.auth
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request

        try:
            credentials, _ = google.auth.default(scopes=[self._scope])
            credentials.refresh(Request())  # type: ignore[no-untyped-call]
        except GoogleAuthError as error:
            raise AccessError(
                "This server has no Google Cloud identity. Use a service account key, or ask the operator."
            ) from error
        ends = credentials.expiry.replace(tzinfo=UTC).timestamp() if credentials.expiry else 0.0
        return str(credentials.token), ends
