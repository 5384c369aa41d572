"""Fields of queries that had another name. What is stored with the old name is read; who sends it is told the new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from finops.lib.params import fields_of

RENAMED_FIELDS: Final = {
    "budget_id": "budget",
    "by": "group_by",
    "channel_id": "channel",
    "customer": "customers",
    "kind": "kinds",
    "metric": "usage_metric",
    "period": "frequency",
    "source": "cost_source",
    "state": "status",
    "top": "limit",
    "min_impact": "minimum_impact",
    "min_saving": "minimum_saving",
}
"""New names by old name, of every query that has the new and not the old one."""


def with_current_names(stored: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return stored fields of a query with their names of today. A single value of a field that is a list by now is a
    list of one."""
    fields = {field.encode_name: field for field in fields_of(kind)}
    current: dict[str, Any] = {}
    for name, value in stored.items():
        new_name = RENAMED_FIELDS.get(name, "") if name not in fields else ""
        field = fields.get(new_name or name)
        is_one = field is not None and field.default_factory is list and not isinstance(value, list)
        current[new_name if new_name in fields else name] = ([value] if value else []) if is_one else value
    return current
