"""Configs that are stored with their secrets sealed: of connections, and of data exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from finops.connections.configs import config_of_values, stored_parts
from finops.connections.connector import AccessError, Configurable, ConnectorConfig, with_column_mapping
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection
from finops.costs.mapping.document import MappingDocument
from finops.costs.models import ColumnMapping
from finops.lib import clock, sealing


class SealedConfig(Protocol):
    """A row with a config: its public fields, its secrets sealed for `credentials_purpose`, and its external ID."""

    config: Any
    credentials: Any
    credentials_changed_at: Any
    external_id: Any

    @property
    def credentials_purpose(self) -> str: ...


def open_config(row: SealedConfig, kind: Configurable) -> ConnectorConfig:
    """Return the config with its secrets in plaintext. Raises AccessError if the secrets can no longer be read,
    UserError if the config no longer fits its kind."""
    try:
        secrets = _open_secrets(row)
    except sealing.Unsealable as error:
        raise AccessError(
            "The stored credentials cannot be read since the server's secret key changed. Enter them again."
        ) from error
    return config_of_values(kind, row.config, external_id=row.external_id, stored_secrets=secrets)


def store_config(
    row: SealedConfig, config: ConnectorConfig, secrets_before: Mapping[str, Any] | None = None
) -> None:
    """Set the row's config and sealed secrets, and when they changed; None before: the row is new. Not saved."""
    row.config, secrets = stored_parts(config)
    if secrets == secrets_before:
        return
    row.credentials = sealing.seal(secrets, purpose=row.credentials_purpose) if secrets else ""
    if secrets or secrets_before is not None:
        row.credentials_changed_at = clock.now()


def secrets_of(row: SealedConfig) -> dict[str, Any]:
    """Return the stored secrets; none if they can no longer be read, so that all must be entered again."""
    try:
        return _open_secrets(row)
    except sealing.Unsealable:
        return {}


def secret_names(row: SealedConfig) -> frozenset[str]:
    """Return the names of the stored secrets; none if they can no longer be read."""
    return frozenset(secrets_of(row))


def _open_secrets(row: SealedConfig) -> dict[str, Any]:
    return sealing.unseal(row.credentials, purpose=row.credentials_purpose) if row.credentials else {}


def config_of(connection: CostConnection) -> ConnectorConfig:
    """Return the connector's config with its secrets and its column mapping. Raises as `open_config`."""
    config = open_config(connection, connector_of(connection.connector))
    return with_column_mapping(config, mapping_of(connection))


def mapping_of(connection: CostConnection) -> MappingDocument | None:
    """Return the column mapping of the source, if its connector supports one. The account is in scope."""
    if not connector_of(connection.connector).takes_any_columns:
        return None
    row = ColumnMapping.objects.filter(source_id=connection.source_id).first()
    return row.document if row else None
