"""Fills a live server: the test cast, forty days of cost, and keys."""

from __future__ import annotations

from tests.cast import make_cast
from tests.isolation.marks import fill_with_marks
from tests.mcpserver.mcp_client import mint


def with_keys() -> dict[str, str]:
    cast = make_cast()
    fill_with_marks(cast.account)
    keys = {scope: mint(cast, scope) for scope in ("read", "read_write")}
    return {**keys, "suite": mint(cast)}
