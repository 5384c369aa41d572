"""Registrations of dashboards with lower apps: a panel on a team's page, and dashboards that use a dimension."""

from __future__ import annotations

from urllib.parse import urlencode

from accounts.models import Account
from finops.allocation.cost_tags.uses import dimension_uses
from finops.allocation.models import Team
from finops.allocation.team_panels import TeamPanel, team_panels
from finops.dashboards.models import Dashboard, Widget

SHOWN = 10


@team_panels.register("dashboards")
def team_dashboards(account: Account, team: Team) -> TeamPanel | None:
    """Return links to the shared dashboards, filtered by the team. One query; none without shared boards."""
    boards = list(Dashboard.objects.filter(account=account, owner=None)[:SHOWN])
    if not boards:
        return None
    filter_query = urlencode({"f0": "team", "f0op": "in", "f0v": team.name})
    return TeamPanel("dashboards/_team_panel.html", {"boards": boards, "narrowed": filter_query})


@dimension_uses.register("dashboards")
def dashboards_of_dimension(account: Account, dimension: str) -> list[str]:
    """Return dashboards that use a dimension. Personal ones are not named: the caller may not be their owner."""
    rows = Widget.objects.filter(account=account).select_related("dashboard")
    dashboards = [row.dashboard for row in rows if _uses(row.config, dimension.casefold())]
    labels = [f"dashboard {each.name}" if each.is_shared else "a personal dashboard" for each in dashboards]
    return list(dict.fromkeys(labels))


def _uses(config: dict[str, object], dimension: str) -> bool:
    if f"cost_tag:{config.get('cost_tag', '')}".casefold() == dimension:
        return True
    groups, filters = config.get("group_by", []), config.get("filters", [])
    dimensions = [*(groups if isinstance(groups, list) else [])]
    dimensions += (
        [item.get("dimension", "") for item in filters if isinstance(item, dict)]
        if isinstance(filters, list)
        else []
    )
    return any(str(name).casefold() == dimension for name in dimensions)
