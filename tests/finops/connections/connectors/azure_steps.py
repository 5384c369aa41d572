"""Steps that the tests of Azure exports share."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from finops.connections import services
from finops.connections.connector import Fetch
from finops.connections.connectors import connector_of
from finops.connections.connectors.azure_exports import AzureExportsConfig
from finops.connections.models import CostConnection
from tests.cast import Cast
from tests.finops.connections.azurite import AzureContainer

MAY, JUNE = "20260501-20260531", "20260601-20260630"
CONNECTOR = connector_of("azure_exports")
GUID = "11111111-2222-3333-4444-555555555555"


def connect(cast: Cast, container: AzureContainer, **values: object) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Azure",
        connector="azure_exports",
        values={"access": "sas_url", "sas_url": container.sas_url(), "path": "exports", **values},
    )


def config(container: AzureContainer, **values: Any) -> AzureExportsConfig:
    return AzureExportsConfig(access="sas_url", sas_url=container.sas_url(), path="exports", **values)


def fetch_may(config: AzureExportsConfig, folder: Path, **options: Any) -> list[bytes]:
    month = next(each for each in CONNECTOR.months(config) if each.month == date(2026, 5, 1))
    return [each.path.read_bytes() for each in CONNECTOR.fetch(config, month, Fetch(folder, **options))]
