"""Whose cost it is: cost tags, teams, shared-cost splits. All are rules; the cost lines themselves never change."""

from finops.allocation.models.cost_tags import CostTag
from finops.allocation.models.splits import SharedCostSplit
from finops.allocation.models.teams import Team, TeamKey, TeamMember, TeamValue

__all__ = ["CostTag", "SharedCostSplit", "Team", "TeamKey", "TeamMember", "TeamValue"]
