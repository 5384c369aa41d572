from __future__ import annotations

import pytest

from tests.finops.connections.azurite import AzureContainer, AzureExport


@pytest.fixture
def export(container: AzureContainer) -> AzureExport:
    return AzureExport(container)
