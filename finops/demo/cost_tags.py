"""Cost tags of the demo company: what its clouds spell in many ways, gathered into one."""

from __future__ import annotations

from typing import Any

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import CostTag
from finops.allocation.rules import CostTagDraft, read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.lake import queries as lake_queries

_ENVIRONMENTS = {
    "Production": ("prod", "production", "prd", "live"),
    "Staging": ("staging", "stg", "stage"),
    "Development": ("dev", "develop", "development", "sandbox"),
}


def _on(dimension: str, *values: str, op: str = "in") -> dict[str, Any]:
    return {"dimension": dimension, "op": op, "values": list(values)}


_ENVIRONMENT = CostTagDraft(
    key="environment",
    description="Production, staging or development, however a cloud and a team spell it",
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
                "name": "Accounts that say it",
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
    description="The customer of dedicated resources, with the spellings of three scripts put right",
    default_value="Shared by all customers",
    rules=read_rules(
        [
            {
                "name": "The tag, put right",
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
    description="Who answers for the cost in the ledger",
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

DRAFTS = (_ENVIRONMENT, _CUSTOMER, _COST_CENTRE)


def ensure_cost_tags(account: Account, actor: Actor) -> int:
    """Make those that are not there, in the account in scope, where its bills have tags; how many."""
    if "env" not in lake_queries.tag_keys(account):
        return 0
    there = {key.casefold() for key in CostTag.objects.values_list("key", flat=True)}
    missing = [draft for draft in DRAFTS if draft.key not in there]
    for draft in missing:
        create_cost_tag(
            account=account,
            actor=actor,
            key=draft.key,
            description=draft.description,
            rules=draft.rules,
            default_value=draft.default_value,
        )
    return len(missing)
