from __future__ import annotations

from tests.finops.costs.conftest import acme

__all__ = ["acme"]
