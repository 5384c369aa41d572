"""Fields that had another name: who sends the old one is told the new one."""

from __future__ import annotations

from typing import Final

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
"""New names by old name, of whatever has the new and not the old one."""
