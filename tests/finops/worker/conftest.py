from __future__ import annotations

from tests.finops.telemetry.conftest import counting

__all__ = ["counting"]
