"""Template filters and tags for insights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django import template

from finops.costs.templatetags.costs import as_query
from finops.insights.anomalies.rows import anomaly_name
from finops.insights.anomalies.schemas import AnomalyRow
from finops.insights.charts import move_name
from finops.insights.models import Anomaly
from finops.insights.spend_change.effects import EFFECTS
from finops.insights.spend_change.schemas import Effects, Move
from finops.insights.spend_change.text import WHY, badge_of
from finops.insights.tag_recommendations.schemas import KINDS
from finops.insights.views.anomalies import AnomalyLine
from finops.lib.formats import numbers
from finops.lib.money import ratio

register = template.Library()

EXPLORED = ("start_date", "end_date", "period", "compare_to", "basis", "charge_categories")


register.filter(move_name)
register.filter("move_badge", badge_of)
register.filter(anomaly_name)


@register.filter
def tag_kind(name: str) -> str:
    """`same_keys` → `Same key`."""
    return {str(kind): title for kind, title in KINDS.items()}[name]


@register.filter
def why(effect: str) -> str:
    """`volume` → `change in volume`."""
    return WHY[effect]


@register.filter
def effect_name(effect: str) -> str:
    """`gone` → `ended`: an effect in a word."""
    return {"gone": "ended", "unmeasured": "unknown"}.get(effect, effect)


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


@register.filter
def anomaly_kind(row: AnomalyRow) -> str:
    """`step` → `New level`."""
    return str(Anomaly.Kind(row.kind).label)


@register.filter
def impact_share(row: AnomalyRow) -> str:
    """`+120%`: the impact as a share of what was expected."""
    share = ratio(row.impact, row.expected)
    return "" if share is None else numbers.change(share)


@register.filter
def at_least_nothing(amount: Decimal) -> Decimal:
    """The lower bound of a cost, which is not below 0 however wide the band."""
    return max(amount, Decimal(0))


@register.filter
def about_days(line: AnomalyLine) -> str:
    """What a small drawing shows, to a screen reader."""
    return f"Cost of {line.name} by day around {line.row.first_day}, in {line.row.currency}"
