"""Sealed secrets of a connection, and its config with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finops.connections.configs import config_of_values
from finops.connections.connector import AccessError, ConnectorConfig, with_column_mapping
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection
from finops.costs.mapping.document import MappingDocument
from finops.costs.models import ColumnMapping
from finops.lib import sealing


def config_of(connection: CostConnection) -> ConnectorConfig:
    """Return the connector's config with its secrets in plaintext. Raises AccessError if the secrets can no longer be
    read, UserError if the config no longer fits the connector."""
    try:
        secrets = _open_secrets(connection)
    except sealing.Unsealable as error:
        raise AccessError(
            "The stored credentials cannot be read since the server's secret key changed. Enter them again."
        ) from error
    config = config_of_values(
        connector_of(connection.connector),
        connection.config,
        external_id=connection.external_id,
        stored_secrets=secrets,
    )
    return with_column_mapping(config, mapping_of(connection))


def mapping_of(connection: CostConnection) -> MappingDocument | None:
    """Return the column mapping of the source, if its connector supports one. The account is in scope."""
    if not connector_of(connection.connector).takes_any_columns:
        return None
    row = ColumnMapping.objects.filter(source_id=connection.source_id).first()
    return row.document if row else None


def secrets_of(connection: CostConnection) -> dict[str, Any]:
    """Return the stored secrets; none if they can no longer be read, so that all must be entered again."""
    try:
        return _open_secrets(connection)
    except sealing.Unsealable:
        return {}


def seal_secrets(connection: CostConnection, secrets: Mapping[str, Any]) -> str:
    """Return the sealed secrets for the row; empty without any."""
    return sealing.seal(secrets, purpose=_purpose(connection)) if secrets else ""


def _open_secrets(connection: CostConnection) -> dict[str, Any]:
    if not connection.credentials:
        return {}
    return sealing.unseal(connection.credentials, purpose=_purpose(connection))


def _purpose(connection: CostConnection) -> str:
    return f"cost connection {connection.connector} of account {connection.account_id}"
