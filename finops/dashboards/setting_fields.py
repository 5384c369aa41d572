"""The settings of a widget as fields of a form: which there are, what they offer, and what was said in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

import msgspec

from finops.allocation.models import CostTag
from finops.budgets.models import Budget
from finops.costs.views.choices import BASES, COMPARISONS, GRANULARITIES, PERIODS, SPLITS
from finops.dashboards.board_query import BoardQuery
from finops.dashboards.catalogue import WidgetType
from finops.dashboards.configs import Config
from finops.insights.savings.savings_query import STATUSES, RuleName
from finops.lib.params import from_text
from finops.unitcosts.models import UnitMetric
from ingestion.models import UsageMetric

Choices = Sequence[tuple[Any, str]]

LABELS: Final = {
    "period": "Own period",
    "granularity": "By",
    "group_by": "Group by",
    "top": "How many",
    "splits": "Shared costs",
    "basis": "Basis",
    "compare_to": "Compare with",
    "unit_metric": "Unit metric",
    "budgets": "Budgets (none ticked: all)",
    "state": "State",
    "status": "Status",
    "rule": "Rule",
    "search": "Search",
    "min_impact": "Impact of at least",
    "currency": "Currency of the impact",
    "by": "A row for each",
    "metric": "Usage metric",
    "cost_tag": "Cost tag",
    "text": "Text",
}
MAY_BE_EMPTY: Final = ("group_by", "text", "search", "metric", "currency")
"""Texts that say something when they are empty; any other empty field is one that nobody filled in."""


@dataclass(frozen=True)
class SettingField:
    """`kind`: select, dimension, dimensions, checks, number, text or textarea. `first`: what the empty choice is called."""

    name: str
    label: str
    kind: str
    value: Any
    choices: Choices = ()
    first: str = ""
    help: str = ""
    numbered: list[tuple[int, str]] = field(default_factory=list)


def fields_of(kind: WidgetType, config: Config | None) -> list[SettingField]:
    """One for each setting but the filters, with what a widget says now. A query for each list to choose from."""
    values = msgspec.structs.asdict(config) if config is not None else {}
    return [
        _field(kind, info.name, values.get(info.name, _default(info)))
        for info in msgspec.structs.fields(kind.config)
        if info.name != "filters"
    ]


def _default(info: msgspec.structs.FieldInfo) -> Any:
    if info.default is not msgspec.NODEFAULT:
        return info.default
    return "" if info.default_factory is msgspec.NODEFAULT else []


def _field(kind: WidgetType, name: str, value: Any) -> SettingField:
    label = LABELS.get(name, name)
    if name == "group_by" and kind.name == "usage":
        return SettingField(name, label, "text", value, help="customer, dimension:region …, or nothing.")
    if name == "group_by" and kind.name == "table":
        groups = [*(value or ["service"]), "", ""][:2]
        return SettingField(name, label, "dimensions", value, numbered=list(enumerate(groups, start=1)))
    if name == "group_by":
        first = "Nothing: the total" if kind.name == "spend_over_time" else ""
        return SettingField(name, label, "dimension", value, first=first)
    if name in ("top", "min_impact"):
        return SettingField(name, label, "number", value)
    if name == "text":
        return SettingField(name, label, "textarea", value, help="A blank line begins a new paragraph.")
    if name == "budgets":
        budgets = Budget.objects.values_list("pk", "name")
        return SettingField(name, label, "checks", value, list(budgets))
    choices = _choices(kind, name)
    return SettingField(name, label, "select" if choices else "text", value or "", *choices)


def _choices(kind: WidgetType, name: str) -> tuple[Choices, str] | tuple[()]:
    if name == "unit_metric":
        return [(row, row) for row in UnitMetric.objects.values_list("name", flat=True)], "Choose…"
    if name == "cost_tag":
        return [(row, row) for row in CostTag.objects.values_list("key", flat=True)], "Choose…"
    if name == "metric":
        return [(row, row) for row in UsageMetric.objects.values_list("name", flat=True)], "The first"
    if name == "rule":
        return [(rule, rule.replace("_", " ").capitalize()) for rule in get_args(RuleName)], "Every rule"
    if name == "basis":
        return BASES, "As in the cost view"
    comparisons = COMPARISONS[1:] if kind.name == "top_movers" else COMPARISONS
    choices_by_name: Mapping[str, Choices] = {
        "period": PERIODS,
        "granularity": GRANULARITIES[1:],
        "compare_to": comparisons,
        "splits": SPLITS,
        "status": [(each, each.capitalize()) for each in STATUSES],
        "state": [("open", "Open"), ("expected", "Expected"), ("resolved", "Resolved"), ("all", "All")],
        "by": [("commitment", "Commitment"), ("type", "Type")],
    }
    return (choices_by_name[name], "") if name in choices_by_name else ()


def config_from_form(kind: WidgetType, params: Mapping[str, Sequence[str]]) -> Config:
    """The settings that a form says. Raises UserError that names the field."""
    raw: dict[str, Any] = {}
    for info in msgspec.structs.fields(kind.config):
        values = list(params.get(info.name, ()))
        if info.name == "filters":
            filters = BoardQuery.from_params(params).filters
            complete = [item for item in filters if item.values or item.op == "absent"]
            raw["filters"] = msgspec.to_builtins(complete)
        elif info.name == "budgets" or (info.name == "group_by" and kind.name == "table"):
            raw[info.name] = [value for value in values if value]
        elif values and (values[-1] or info.name in MAY_BE_EMPTY):
            raw[info.name] = values[-1]
    return from_text(raw, kind.config)
