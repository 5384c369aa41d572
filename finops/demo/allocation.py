"""Cost allocation of the demo: teams with a cost tag that unifies the clouds' spellings of the team tag, further cost tags, and
a shared-cost split of each kind, over the bills' data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from accounts.audit import Actor
from accounts.models import Account, Membership
from finops.allocation.models import CostTag, SharedCostSplit, Team, TeamKey
from finops.allocation.rules import CostTagDraft, read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.splits import SplitDraft, create_split
from finops.allocation.services.teams import add_team_member, create_team, own_value, set_team_key
from finops.demo.company import person
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from ingestion.queries import metrics_of

TEAM_TAG = "team"
TEAM_RULES = [
    {"name": "Any spelling of the tag", "copy": {"keys": ["team", "Team"], "normalise": ["trim", "lower"]}}
]


@dataclass(frozen=True)
class TeamPlan:
    """A team with the values that it owns and its members."""

    name: str
    description: str
    values: tuple[str, ...]
    people: tuple[str, ...] = ()


TEAM_PLANS = (
    TeamPlan(
        "Platform",
        "Clusters, network and shared infrastructure",
        ("platform",),
        ("maya.okafor",),
    ),
    TeamPlan("Payments", "Checkout, invoices and the ledger", ("payments",), ("sofia.rossi", "maya.okafor")),
    TeamPlan("Search", "Indexing and the search API", ("search",), ("omar.haddad",)),
    TeamPlan("Data & ML", "Warehouse, pipelines and models", ("data", "ml"), ("sofia.rossi",)),
    TeamPlan("Growth", "The assistant, trials and the website", ("growth",), ("omar.haddad",)),
)
"""The security team's tag values have no team yet: they are left for a person to assign."""


def ensure_teams(account: Account, actor: Actor) -> None:
    """Create missing teams in the account in scope. None where no bill has the tag."""
    if not {"team", "Team"} & set(lake_queries.tag_keys(account)):
        return
    if not CostTag.objects.filter(key__iexact=TEAM_TAG).exists():
        create_cost_tag(
            account=account,
            actor=actor,
            key=TEAM_TAG,
            description="The team tag in all spellings",
            rules=read_rules(TEAM_RULES),
        )
    if not TeamKey.objects.exists():
        set_team_key(account=account, actor=actor, dimension=f"cost_tag:{TEAM_TAG}")
    there = set(Team.objects.values_list("name", flat=True))
    for plan in TEAM_PLANS:
        if plan.name not in there:
            _create_team(account, actor, plan)


def _create_team(account: Account, actor: Actor, plan: TeamPlan) -> None:
    team = create_team(account=account, actor=actor, name=plan.name, description=plan.description)
    for value in plan.values:
        own_value(team=team, actor=actor, value=value)
    emails = [person(name) for name in plan.people]
    for membership in Membership.objects.filter(account=account, user__email__in=emails):
        add_team_member(team=team, actor=actor, membership=membership)


_ENVIRONMENTS = {
    "Production": ("prod", "production", "prd", "live"),
    "Staging": ("staging", "stg", "stage"),
    "Development": ("dev", "develop", "development", "sandbox"),
}


def _on(dimension: str, *values: str, op: str = "in") -> dict[str, Any]:
    return {"dimension": dimension, "op": op, "values": list(values)}


_ENVIRONMENT = CostTagDraft(
    key="environment",
    description="Production, staging or development, in all spellings",
    rules=read_rules(
        [
            {
                "name": "Any spelling of the tag",
                "copy": {
                    "keys": ["env", "Env", "environment", "Environment"],
                    "normalise": ["trim", "lower"],
                    "map": {spelt: name for name, spellings in _ENVIRONMENTS.items() for spelt in spellings},
                },
            },
            {
                "name": "Production accounts",
                "when": {
                    "any": [_on("account", "-prod", "production", op="ends_with"), _on("account", "prod")]
                },
                "value": "Production",
            },
            {
                "name": "Staging accounts",
                "when": _on("account", "staging", op="contains"),
                "value": "Staging",
            },
            {
                "name": "Development accounts",
                "when": _on("account", "dev", "sandbox", op="contains"),
                "value": "Development",
            },
        ]
    ),
)

_CUSTOMER = CostTagDraft(
    key="customer",
    description="The customer of dedicated resources, in all spellings",
    default_value="Shared by all customers",
    rules=read_rules(
        [
            {
                "name": "Corrected tag",
                "copy": {
                    "keys": ["customer"],
                    "normalise": ["trim", "lower", "dashes"],
                    "map": {"cust-23": "cust-023"},
                },
            }
        ]
    ),
)

_COST_CENTRE = CostTagDraft(
    key="cost-centre",
    description="Owner of the cost in the ledger",
    default_value="Not assigned",
    rules=read_rules(
        [
            {
                "name": "Models",
                "when": {
                    "any": [
                        _on("service_category", "AI and Machine Learning"),
                        _on("provider", "Anthropic", "OpenAI"),
                    ]
                },
                "value": "Research: models",
            },
            {
                "name": "The tag of either cloud",
                "copy": {"keys": ["cost-center", "CostCenter"], "normalise": ["trim", "lower"]},
            },
            {
                "name": "Security tools without a tag",
                "when": _on("cost_tag:team", "security"),
                "value": "Security",
            },
            {
                "name": "Trials and previews",
                "when": {
                    "all": [
                        _on("cost_tag:environment", "Development", "Staging"),
                        {"not": _on("service", "storage", op="contains")},
                    ]
                },
                "value": "Engineering: trials",
            },
        ]
    ),
)

_COST_TAGS = (_ENVIRONMENT, _CUSTOMER, _COST_CENTRE)


def ensure_cost_tags(account: Account, actor: Actor) -> None:
    """Create missing cost tags in the account in scope, where its bills have tags."""
    if "env" not in lake_queries.tag_keys(account):
        return
    there = {key.casefold() for key in CostTag.objects.values_list("key", flat=True)}
    for draft in _COST_TAGS:
        if draft.key not in there:
            create_cost_tag(
                account=account,
                actor=actor,
                key=draft.key,
                description=draft.description,
                rules=draft.rules,
                default_value=draft.default_value,
            )


_BUILDERS = ("payments", "search", "data", "growth", "ml")
"""The product teams, which share the cost of platform and security."""

_SERVICES = (("cdn", "35"), ("ranking", "30"), ("warehouse", "25"), ("guard", "10"))
_REQUESTS = "requests"

_SPLITS = (
    SplitDraft(
        name="Platform by team cost",
        dimension="tag:team",
        source_value="platform",
        method="proportional",
        targets=[(team, "") for team in _BUILDERS],
    ),
    SplitDraft(
        name="Security, evenly by team",
        dimension="tag:team",
        source_value="security",
        method="even",
        targets=[(team, "") for team in _BUILDERS],
    ),
    SplitDraft(
        name="Network by agreed shares",
        dimension="tag:service",
        source_value="network",
        method="fixed",
        targets=_SERVICES,
    ),
    SplitDraft(
        name="Shared cluster by requests",
        dimension="tag:customer",
        source_value="(untagged)",
        method="usage",
        every_customer=True,
        usage_metric=_REQUESTS,
    ),
)


def ensure_splits(account: Account, actor: Actor) -> None:
    """Create missing splits in the account in scope, where its data has the values they name. A person's split of the same
    value replaces the demo's."""
    there = set(SharedCostSplit.objects.values_list("name", flat=True))
    keys = {f"tag:{key}" for key in lake_queries.tag_keys(account)}
    metrics = {metric.name for metric in metrics_of(account)}
    for draft in _SPLITS:
        has_data = draft.dimension in keys and (draft.usage_metric or _REQUESTS) in metrics
        if draft.name not in there and has_data:
            with suppress(UserError):
                create_split(account=account, actor=actor, draft=draft)
