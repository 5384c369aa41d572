"""Teams of the demo company: its people, and the values of a cost tag that gathers how clouds spell the team tag."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.audit import Actor
from accounts.models import Account, Membership
from finops.allocation.models import CostTag, Team, TeamKey
from finops.allocation.rules import read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.teams import add_team_member, create_team, own_value, set_team_key
from finops.demo.company import person
from finops.lake import queries as lake_queries

KEY = "team"
RULES = [
    {"name": "Any spelling of the tag", "copy": {"keys": ["team", "Team"], "normalise": ["trim", "lower"]}}
]


@dataclass(frozen=True)
class Plan:
    """A team with the values that it owns and the colleagues that are in it."""

    name: str
    description: str
    values: tuple[str, ...]
    people: tuple[str, ...] = ()


PLANS = (
    Plan(
        "Platform",
        "Clusters, network and everything that all others stand on",
        ("platform",),
        ("maya.okafor",),
    ),
    Plan("Payments", "Checkout, invoices and the ledger", ("payments",), ("sofia.rossi", "maya.okafor")),
    Plan("Search", "Indexing and the search API", ("search",), ("omar.haddad",)),
    Plan("Data & ML", "Warehouse, pipelines and models", ("data", "ml"), ("sofia.rossi",)),
    Plan("Growth", "The assistant, trials and the website", ("growth",), ("omar.haddad",)),
)
"""What the security team tags has no team yet: somebody is to assign it."""


def ensure_teams(account: Account, actor: Actor) -> int:
    """Make those that are not there, in the account in scope; how many. None where no bill has the tag."""
    keys = set(lake_queries.tag_keys(account))
    if not keys & {"team", "Team"}:
        return 0
    if not CostTag.objects.filter(key__iexact=KEY).exists():
        create_cost_tag(
            account=account,
            actor=actor,
            key=KEY,
            description="The team tag, however a cloud spells it",
            rules=read_rules(RULES),
        )
    if not TeamKey.objects.exists():
        set_team_key(account=account, actor=actor, dimension=f"cost_tag:{KEY}")
    there = set(Team.objects.values_list("name", flat=True))
    missing = [plan for plan in PLANS if plan.name not in there]
    for plan in missing:
        _make(account, actor, plan)
    return len(missing)


def _make(account: Account, actor: Actor, plan: Plan) -> None:
    team = create_team(account=account, actor=actor, name=plan.name, description=plan.description)
    for value in plan.values:
        own_value(team=team, actor=actor, value=value)
    emails = [person(name) for name in plan.people]
    for membership in Membership.objects.filter(account=account, user__email__in=emails):
        add_team_member(team=team, actor=actor, membership=membership)
