"""Fills a live server: the test cast, and a key of each kind."""

from __future__ import annotations

from tests.cast import make_cast
from tests.mcpserver.door import mint


def with_keys() -> dict[str, str]:
    cast = make_cast()
    return {scope: mint(cast, scope) for scope in ("read", "read_write")}
