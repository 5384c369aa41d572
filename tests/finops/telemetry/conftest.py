from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from finops.lib.telemetry import metrics
from tests.finops.telemetry.scrape import TOKEN


@pytest.fixture
def metrics_folder(settings: Settings, tmp_path: Path) -> Iterator[Path]:
    """Metrics are on in this process."""
    settings.METRICS_TOKEN = TOKEN
    metrics.enable(tmp_path / "metrics")
    yield tmp_path / "metrics"
    metrics.disable()
