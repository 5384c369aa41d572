"""Which dashboards use a dimension that allocation gives."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags import uses
from finops.dashboards.models import Widget


@uses.register("dashboards")
def _dashboards(account: Account, dimension: str) -> list[str]:
    """Personal ones have no name here: whoever asks may not be their owner."""
    rows = Widget.objects.filter(account=account).select_related("dashboard")
    dashboards = [row.dashboard for row in rows if _names(row.config, dimension.casefold())]
    labels = [f"dashboard {each.name}" if each.is_shared else "a personal dashboard" for each in dashboards]
    return list(dict.fromkeys(labels))


def _names(config: dict[str, object], dimension: str) -> bool:
    if f"cost_tag:{config.get('cost_tag', '')}".casefold() == dimension:
        return True
    groups = config.get("group_by", "")
    filters = config.get("filters", [])
    dimensions = [*(groups if isinstance(groups, list) else [groups])]
    dimensions += (
        [item.get("dimension", "") for item in filters if isinstance(item, dict)]
        if isinstance(filters, list)
        else []
    )
    return any(str(name).casefold() == dimension for name in dimensions)
