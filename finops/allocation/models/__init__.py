"""The allocation rules: cost tags, teams and shared-cost splits. They never change the cost lines themselves."""

from finops.allocation.models.cost_tags import CostTag
from finops.allocation.models.splits import SharedCostSplit
from finops.allocation.models.teams import Team, TeamKey, TeamMember, TeamValue

__all__ = ["CostTag", "SharedCostSplit", "Team", "TeamKey", "TeamMember", "TeamValue"]
