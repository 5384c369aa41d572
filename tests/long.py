"""Cases that `make test` leaves to `make test-long`: another width or theme of what it has looked at."""

from __future__ import annotations

from typing import Any

import pytest


def also_long(*cases: Any) -> list[Any]:
    """Each a value of `pytest.mark.parametrize`, or a tuple of them."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for case in cases
    ]
