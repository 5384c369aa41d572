from __future__ import annotations

from tests.finops.telemetry.conftest import metrics_folder

__all__ = ["metrics_folder"]
