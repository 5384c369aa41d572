"""The config of a data export, with its secrets."""

from __future__ import annotations

from finops.connections.connector import ConnectorConfig
from finops.connections.services.credentials import open_config
from finops.data_exports.destinations import destination_of
from finops.data_exports.models import DataExport


def config_of(export: DataExport) -> ConnectorConfig:
    """Return the destination's config with its secrets unsealed. Raises AccessError when the secrets can no longer be read,
    UserError when the config no longer fits the destination."""
    return open_config(export, destination_of(export.destination))
