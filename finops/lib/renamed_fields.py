"""Fields that had another name: who sends the old one is told the new one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

RENAMED_FIELDS: Final = (
    ("budget_id", "budget"),
    ("by", "group_by"),
    ("channel_id", "channel"),
    ("customer", "customers"),
    ("kind", "kinds"),
    ("metric", "usage_metric"),
    ("min_impact", "minimum_impact"),
    ("min_saving", "minimum_saving"),
    ("period", "frequency"),
    ("scope", "filters"),
    ("scope", "scopes"),
    ("source", "cost_source"),
    ("state", "status"),
    ("state", "statuses"),
    ("status", "statuses"),
    ("top", "limit"),
    ("trigger", "triggers"),
)
"""Old and new names, of whatever has the new and not the old one."""


def new_name(old: str, names: Collection[str]) -> str:
    """Return which of the names a field has now; empty for a field that had no other name."""
    return next((new for name, new in RENAMED_FIELDS if name == old and new in names), "")
