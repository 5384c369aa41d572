"""How templates write answers about insights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django import template

from finops.costs.templatetags.costs import as_query
from finops.insights import charts
from finops.insights.spend_change.answers import Effects, Move
from finops.insights.spend_change.effects import EFFECTS
from finops.insights.spend_change.words import WHY, badge_of
from finops.insights.tag_recommendations.tag_recommendations_query import KINDS

register = template.Library()

EXPLORED = ("start_date", "end_date", "period", "compare_to", "basis", "charge_categories")


@register.filter
def move_name(move: Move) -> str:
    return charts.move_name(move)


@register.filter
def move_badge(move: Move) -> str:
    """`new`, `gone`, `credits began`; empty for what is on both sides."""
    return badge_of(move)


@register.filter
def tag_kind(name: str) -> str:
    """`same_keys` → `Same key`."""
    return next(title for kind, title in KINDS.items() if kind == name)


@register.filter
def why(effect: str) -> str:
    """`volume` → `more or less of it`."""
    return WHY[effect]


@register.filter
def amounts_by_effect(effects: Effects) -> list[tuple[str, Decimal]]:
    """(effect, amount) of those that moved something."""
    return [(name, getattr(effects, name)) for name in EFFECTS if getattr(effects, name)]


@register.filter
def explorer_params(params: Mapping[str, Sequence[str]], move: Move) -> str:
    """The cost explorer's question about a move: its group by day and usage type, with the same filters."""
    own_params = {name: values for name, values in params.items() if name in EXPLORED or name.startswith("f")}
    filter_count = sum(1 for name in own_params if name.startswith("f") and name[1:].isdigit())
    narrowed: dict[str, Sequence[str]] = dict(own_params)
    for index, (dimension, value) in enumerate(move.group.items(), start=filter_count):
        narrowed |= {f"f{index}": [dimension], f"f{index}op": ["in"], f"f{index}v": [value]}
    narrowed["group_by"] = ["resource" if "usage_type" in move.group else "usage_type"]
    narrowed["granularity"] = ["day"]
    narrowed.setdefault("compare_to", ["previous_period"])
    return as_query(narrowed)
