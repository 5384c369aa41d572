"""The shared dashboards, narrowed to a team, on the team's page."""

from __future__ import annotations

from urllib.parse import urlencode

from accounts.models import Account
from finops.allocation import team_panels
from finops.allocation.models import Team
from finops.allocation.team_panels import TeamPanel
from finops.dashboards.models import Dashboard

SHOWN = 10


@team_panels.register("dashboards")
def team_dashboards(account: Account, team: Team) -> TeamPanel | None:
    """One query; nothing where the account has no shared board."""
    boards = list(Dashboard.objects.filter(account=account, owner=None)[:SHOWN])
    if not boards:
        return None
    filter_query = urlencode({"f0": "team", "f0op": "in", "f0v": team.name})
    return TeamPanel("dashboards/_team_panel.html", {"boards": boards, "narrowed": filter_query})
