"""The sealed secrets of a data export, and its config with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finops.connections.configs import config_of_values
from finops.connections.connector import AccessError, ConnectorConfig
from finops.data_exports.destinations import destination_of
from finops.data_exports.models import DataExport
from finops.lib import sealing


def config_of(export: DataExport) -> ConnectorConfig:
    """Return the destination's config with its secrets unsealed. Raises AccessError when the secrets can no longer be read,
    UserError when the config no longer fits the destination."""
    try:
        secrets = _open_secrets(export)
    except sealing.Unsealable as error:
        raise AccessError(
            "The stored credentials cannot be read since the server's secret key changed. Enter them again."
        ) from error
    return config_of_values(
        destination_of(export.destination),
        export.config,
        external_id=export.external_id,
        stored_secrets=secrets,
    )


def secrets_of(export: DataExport) -> dict[str, Any]:
    """Return the stored secrets; none if they can no longer be read, so that all are entered again."""
    try:
        return _open_secrets(export)
    except sealing.Unsealable:
        return {}


def seal_secrets(export: DataExport, secrets: Mapping[str, Any]) -> str:
    """Return the secrets sealed for the row; empty without any."""
    return sealing.seal(secrets, purpose=_purpose(export)) if secrets else ""


def _open_secrets(export: DataExport) -> dict[str, Any]:
    if not export.credentials:
        return {}
    return sealing.unseal(export.credentials, purpose=_purpose(export))


def _purpose(export: DataExport) -> str:
    return f"data export {export.destination} of account {export.account_id}"
