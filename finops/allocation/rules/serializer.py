"""Rules as what JSON and YAML hold: `read_rules(write_rules(rules)) == rules`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finops.allocation.rules.document import AllOf, Condition, Copy, CostTagDraft, Not, Rule, Test


def write_rules(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    return [_rule(rule) for rule in rules]


def write_draft(draft: CostTagDraft) -> dict[str, Any]:
    return {
        "key": draft.key,
        **({"description": draft.description} if draft.description else {}),
        **({"default_value": draft.default_value} if draft.default_value else {}),
        "rules": write_rules(draft.rules),
    }


def _rule(rule: Rule) -> dict[str, Any]:
    days = {"valid_from": rule.valid_from, "valid_to": rule.valid_to}
    return {
        **({"name": rule.name} if rule.name else {}),
        **({"when": write_condition(rule.when)} if rule.when else {}),
        **({"copy": _copy(rule.copy)} if rule.copy else {"value": rule.value}),
        **{name: day.isoformat() for name, day in days.items() if day},
    }


def write_condition(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Test):
        values = {"values": list(condition.values)} if condition.values else {}
        return {"dimension": condition.dimension, "op": condition.op, **values}
    if isinstance(condition, Not):
        return {"not": write_condition(condition.part)}
    join = "all" if isinstance(condition, AllOf) else "any"
    return {join: [write_condition(part) for part in condition.parts]}


def _copy(copy: Copy) -> dict[str, Any]:
    return {
        "keys": list(copy.keys),
        **({"normalise": list(copy.normalise)} if copy.normalise else {}),
        **({"map": dict(copy.map)} if copy.map else {}),
    }
