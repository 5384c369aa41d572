"""Reads about cost tags, the same for tools and pages. The account must be in scope."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags.answers import CostTagInfo
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tag_effect import effect
from finops.allocation.queries.cost_tag_list import MAX_LINES, cost_tags_answer
from finops.allocation.queries.cost_tag_preview import preview
from finops.allocation.queries.cost_tag_spend import query_cost_tag
from finops.allocation.rules import read_rules

__all__ = [
    "MAX_LINES",
    "cost_tag_info",
    "cost_tag_keys",
    "cost_tags_answer",
    "effect",
    "list_cost_tags",
    "preview",
    "query_cost_tag",
]


def list_cost_tags(account: Account) -> list[CostTagInfo]:
    """Every cost tag, by key. One query."""
    return [cost_tag_info(row) for row in CostTag.objects.filter(account=account)]


def cost_tag_keys(account: Account) -> list[str]:
    """The keys of all cost tags, by name. One query."""
    return list(CostTag.objects.filter(account=account).values_list("key", flat=True))


def cost_tag_info(cost_tag: CostTag) -> CostTagInfo:
    return CostTagInfo(
        id=cost_tag.pk,
        key=cost_tag.key,
        description=cost_tag.description,
        default_value=cost_tag.default_value,
        rules=read_rules(cost_tag.rules),
        version=cost_tag.version,
        changed_at=cost_tag.changed_at,
        changed_by=cost_tag.changed_by,
    )
