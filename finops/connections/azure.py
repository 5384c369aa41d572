"""Common parts of connectors that read Azure Blob Storage: settings, sign-in, and the container."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from django.conf import settings

from finops.connections.connector import (
    AccessError,
    ConnectorConfig,
    SecretText,
    SourceError,
    required_for,
    shown_for,
)
from finops.connections.transports.azure_blob import AzureBlobBucket
from finops.connections.transports.http import HttpApi, path_part
from finops.connections.transports.rest_bucket import BearerToken, RestCredential
from finops.lib import clock
from finops.lib.extras import require_extra

SCOPE: Final = "https://storage.azure.com/.default"
_CLOUDS: Final = {
    ".blob.core.windows.net": "https://login.microsoftonline.com",
    ".blob.core.usgovcloudapi.net": "https://login.microsoftonline.us",
    ".blob.core.chinacloudapi.cn": "https://login.chinacloudapi.cn",
}
_MANAGEMENT: Final = {
    ".blob.core.windows.net": "https://management.azure.com",
    ".blob.core.usgovcloudapi.net": "https://management.usgovcloudapi.net",
    ".blob.core.chinacloudapi.cn": "https://management.chinacloudapi.cn",
}
"""URL of Azure Resource Manager in each cloud."""
_GUID: Final = r"^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?$"


class AzureBlobConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A container, and how this console signs in."""

    account: Annotated[
        str,
        msgspec.Meta(
            title="Storage account",
            description="Not needed with a SAS URL.",
            examples=["acmebilling"],
            pattern=r"^([a-z0-9]{3,24})?$",
            extra_json_schema=required_for(
                "access", "service_principal", "server_identity", unless="endpoint"
            ),
        ),
    ] = ""
    container: Annotated[
        str,
        msgspec.Meta(
            title="Container",
            description="Not needed with a SAS URL.",
            examples=["cost-exports"],
            pattern=r"^([a-z0-9$][a-z0-9-]{1,61}[a-z0-9])?$",
            extra_json_schema=required_for("access", "service_principal", "server_identity"),
        ),
    ] = ""
    access: Annotated[
        Literal["service_principal", "sas_url", "server_identity"],
        msgspec.Meta(title="Access", description="How this console signs in to Azure."),
    ] = "service_principal"
    tenant_id: Annotated[
        str,
        msgspec.Meta(
            title="Tenant ID",
            description="Directory (tenant) ID of the app registration.",
            examples=["72f988bf-86f1-41af-91ab-2d7cd011db47"],
            pattern=_GUID,
            extra_json_schema=shown_for("access", "service_principal", required=["service_principal"]),
        ),
    ] = ""
    client_id: Annotated[
        str,
        msgspec.Meta(
            title="Client ID",
            description="Application (client) ID, or the client ID of a user-assigned managed identity.",
            examples=["11111111-2222-3333-4444-555555555555"],
            pattern=_GUID,
            extra_json_schema=shown_for(
                "access", "service_principal", "server_identity", required=["service_principal"]
            ),
        ),
    ] = ""
    client_secret: Annotated[
        SecretText,
        msgspec.Meta(
            title="Client secret",
            description="The value of the secret, not its ID.",
            max_length=512,
            extra_json_schema=shown_for("access", "service_principal", required=["service_principal"]),
        ),
    ] = ""
    sas_url: Annotated[
        SecretText,
        msgspec.Meta(
            title="SAS URL",
            description="SAS URL of the container with Read and List permissions.",
            examples=["https://acmebilling.blob.core.windows.net/cost-exports?sp=rl&sig=…"],
            max_length=2_000,
            extra_json_schema=shown_for("access", "sas_url", required=["sas_url"]),
        ),
    ] = ""
    endpoint: Annotated[
        str,
        msgspec.Meta(
            title="Endpoint",
            description="For sovereign clouds. Leave empty for ACCOUNT.blob.core.windows.net.",
            examples=["https://acmebilling.blob.core.usgovcloudapi.net"],
            max_length=500,
        ),
    ] = ""


def open_container(config: AzureBlobConfig, prefix: str) -> AzureBlobBucket:
    """Return the container, opened. A service principal and a server identity sign in with the first request, not
    here. Raises AccessError, SourceError for a missing field, SourceUnavailable."""
    if config.access == "sas_url":
        return _open_sas(config.sas_url, prefix)
    _require(config.account or config.endpoint, "account", "Enter the name of the storage account.")
    _require(config.container, "container", "Enter the name of the container.")
    base_url = (config.endpoint or f"https://{config.account}.blob.core.windows.net").rstrip("/")
    if config.access == "server_identity":
        credential: RestCredential = _server_identity(config, base_url)
    else:
        credential = ServicePrincipal(config, _login_url(base_url))
    return AzureBlobBucket(base_url, config.container, prefix, credential)


def is_of_azure(config: AzureBlobConfig) -> bool:
    """Return whether the config signs in to one of Azure's clouds: not with a SAS, and not to other storage with Azure's API."""
    return config.access != "sas_url" and (
        not config.endpoint or _host(config.endpoint).endswith(tuple(_CLOUDS))
    )


def open_management(config: AzureBlobConfig) -> tuple[str, RestCredential]:
    """Return the URL of Azure Resource Manager in the cloud of the storage account, and the config's credential for
    it. Sends no request. Raises AccessError and SourceError for an invalid credential."""
    blob_url = (config.endpoint or f"https://{config.account}.blob.core.windows.net").rstrip("/")
    suffix = next(
        (suffix for suffix in _MANAGEMENT if _host(blob_url).endswith(suffix)), next(iter(_MANAGEMENT))
    )
    base_url = _MANAGEMENT[suffix]
    scope = f"{base_url}/.default"
    if config.access == "server_identity":
        return base_url, _server_identity(config, blob_url, scope)
    return base_url, ServicePrincipal(config, _CLOUDS[suffix], scope)


def _require(value: str, field: str, text: str) -> None:
    if not value:
        raise SourceError(text, field=field)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _login_url(base_url: str) -> str:
    host = _host(base_url)
    return next(
        (login for suffix, login in _CLOUDS.items() if host.endswith(suffix)), next(iter(_CLOUDS.values()))
    )


class Sas:
    """A shared access signature, which is part of each URL."""

    principal = "the SAS"

    def __init__(self, query: str) -> None:
        self._params = parse_qsl(query)

    def headers(self) -> Mapping[str, str]:
        return {}

    def params(self) -> list[tuple[str, str]]:
        return self._params

    @property
    def end(self) -> datetime | None:
        """Expiry of the signature; None if a policy of the container defines it."""
        try:
            return datetime.fromisoformat(dict(self._params).get("se", "")).astimezone(UTC)
        except ValueError:
            return None


def _open_sas(url: str, prefix: str) -> AzureBlobBucket:
    base, _, query = url.partition("?")
    account_url, _, container = base.rstrip("/").rpartition("/")
    if not query or "sig=" not in query or not account_url.partition("://")[2] or not container:
        raise AccessError(
            "Enter the full SAS URL of the container: https://ACCOUNT.blob.core.windows.net/CONTAINER?…&sig=….",
            field="sas_url",
        )
    sas = Sas(query)
    if sas.end and sas.end < clock.now():
        raise AccessError(
            f"The SAS expired on {sas.end:%Y-%m-%d}. Create a new one and enter its URL.", field="sas_url"
        )
    return AzureBlobBucket(account_url, container, prefix, sas)


class _Token(msgspec.Struct):
    access_token: str
    expires_in: int = 3_600


class ServicePrincipal(BearerToken):
    """An app registration with a client secret. Source:
    learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow."""

    def __init__(self, config: AzureBlobConfig, login_url: str, scope: str = SCOPE) -> None:
        super().__init__()
        self._scope = scope
        for field in ("tenant_id", "client_id", "client_secret"):
            _require(
                getattr(config, field),
                field,
                "Enter tenant ID, client ID and client secret of the app registration.",
            )
        self._config = config
        self.principal = f"the app {config.client_id}"
        self._api = HttpApi(
            connector="azure_login",
            vendor="Microsoft Entra",
            base_url=login_url,
            key_fix="Add a new client secret under Certificates & secrets of the app registration, and enter its value.",
            scope_fix="Grant the app access to this tenant.",
            secrets=(config.client_secret,),
        )

    def _sign_in(self) -> tuple[str, float]:
        body = urlencode(
            {
                "grant_type": "client_credentials",
                "client_id": self._config.client_id,
                "client_secret": self._config.client_secret,
                "scope": self._scope,
            }
        ).encode()
        path = f"/{path_part(self._config.tenant_id)}/oauth2/v2.0/token"
        token = self._api.post(path, body, "application/x-www-form-urlencoded", _Token)
        return token.access_token, time.time() + token.expires_in


class ServerIdentity(BearerToken):
    """The workload identity, or else the managed identity of the machine."""

    principal = "this server's identity"

    def __init__(self, client_id: str, scope: str = SCOPE) -> None:
        super().__init__()
        self._client_id, self._scope = client_id, scope

    def _sign_in(self) -> tuple[str, float]:
        require_extra("This server's identity in Azure")
        from azure.core.exceptions import AzureError
        from azure.identity import (
            ChainedTokenCredential,
            ManagedIdentityCredential,
            WorkloadIdentityCredential,
        )

        client: dict[str, Any] = {"client_id": self._client_id} if self._client_id else {}
        credentials: list[Any] = [ManagedIdentityCredential(**client)]
        with suppress(ValueError):  # its environment is not set: not a pod with a workload identity
            credentials.insert(0, WorkloadIdentityCredential(**client))
        try:
            token = ChainedTokenCredential(*credentials).get_token(self._scope)
        except AzureError as error:
            raise AccessError(
                "This server has no Azure identity, or not this one. Use a service principal, or ask the operator."
            ) from error
        return token.token, float(token.expires_on)


def _server_identity(config: AzureBlobConfig, base_url: str, scope: str = SCOPE) -> ServerIdentity:
    """Return the server's identity. Its token is sent only to Azure's own hosts, because any other host could use it
    to act as this server."""
    if not settings.CONNECTION_AMBIENT_IDENTITY:
        raise AccessError(
            "The console's own identity is turned off for connections. Use a service principal, or ask the operator "
            "to set CONNECTION_AMBIENT_IDENTITY.",
            field="access",
        )
    if not base_url.startswith("https://") or not _host(base_url).endswith(tuple(_CLOUDS)):
        raise SourceError(
            "With the server's identity, the endpoint must be an Azure endpoint.", field="endpoint"
        )
    return ServerIdentity(config.client_id, scope)
