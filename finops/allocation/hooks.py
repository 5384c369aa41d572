"""Registrations of allocation with costs: the dimensions `cost_tag:` and `team`, and shared-cost splits.

Also the uses of a dimension in allocation and costs, and the teams that identity provider groups map to.
"""

from __future__ import annotations

from accounts.models import Account
from accounts.scoping import account_scope
from accounts.sso.groups import TeamDirectory, team_directories
from finops.allocation.cost_tags.resolution import resolve_cost_tag
from finops.allocation.cost_tags.uses import dimension_uses
from finops.allocation.models import CostTag, SharedCostSplit, Team, TeamKey
from finops.allocation.queries.split_moves import split_moves
from finops.allocation.rules import dimensions_of, read_rules
from finops.allocation.services.team_placement import place_in_teams
from finops.allocation.team_dimension import resolve_team
from finops.costs.dimensions import DimensionKind, registry
from finops.costs.models import CostView, SavedView
from finops.costs.spend_query import SpendQuery
from finops.costs.split_registry import splitters

registry.register(
    DimensionKind(
        "cost_tag:",
        "Cost tag",
        "A tag by the account's own rules, such as cost_tag:customer.",
        resolve_cost_tag,
        own_keys=lambda: list(CostTag.objects.values_list("key", flat=True)),
    )
)
registry.register(
    DimensionKind("team", "Team", "The team that owns the value of the team key.", resolve_team)
)
splitters.add("splits", split_moves)


@dimension_uses.register("team key")
def team_key_of_dimension(account: Account, dimension: str) -> list[str]:
    return ["the team key"] if TeamKey.objects.filter(account=account, dimension=dimension).exists() else []


@dimension_uses.register("cost tags")
def cost_tags_of_dimension(account: Account, dimension: str) -> list[str]:
    return [
        f"cost tag {row.key}"
        for row in CostTag.objects.filter(account=account)
        if dimension.casefold() in [name.strip().casefold() for name in dimensions_of(read_rules(row.rules))]
    ]


@dimension_uses.register("splits")
def splits_of_dimension(account: Account, dimension: str) -> list[str]:
    rows = SharedCostSplit.objects.filter(account=account, dimension__iexact=dimension)
    return [f"split {name}" for name in rows.values_list("name", flat=True)]


@dimension_uses.register("saved views")
def saved_views_of_dimension(account: Account, dimension: str) -> list[str]:
    """Saved views that use the dimension. Personal views are not named: the caller may not be their owner."""
    rows = [
        row for row in SavedView.objects.filter(account=account) if _uses(row.query, dimension.casefold())
    ]
    labels = [f"saved view {row.name}" if row.is_shared else "a personal saved view" for row in rows]
    return list(dict.fromkeys(labels))


def _uses(query: SpendQuery, dimension: str) -> bool:
    return dimension in [name.casefold() for name in [*query.group_by, *query.filtered_dimensions()]]


@dimension_uses.register("product key")
def product_key_of_dimension(account: Account, dimension: str) -> list[str]:
    exists = CostView.objects.filter(account=account, product_key__iexact=dimension).exists()
    return ["the product key of the cost view"] if exists else []


def _team_names(account: Account) -> dict[int, str]:
    with account_scope(account):
        return dict(Team.objects.values_list("pk", "name"))


team_directories.add("teams", TeamDirectory(_team_names, place_in_teams))
