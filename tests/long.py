"""Cases that only `make test-long` runs: other widths or themes of pages that `make test` checks."""

from __future__ import annotations

from typing import Any

import pytest


def also_long(*cases: Any) -> list[Any]:
    """Return cases for `pytest.mark.parametrize` with the mark `long`; each is a value or a tuple of values."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for case in cases
    ]
