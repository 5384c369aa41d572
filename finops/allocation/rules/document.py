"""What the rules of a cost tag say, as types. Values that are equal are the same rules, and are hashable.

A rule catches lines and gives them a value: its own, or one that it copies from the line's tags. Nothing here knows
an account: whether a dimension exists is `finops.allocation.cost_tags`' matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Literal, get_args

import msgspec

from finops.costs.spend_query import Op

OPS: tuple[Op, ...] = get_args(Op)

Normalisation = Literal["trim", "lower", "upper", "capitalise", "dashes", "alphanumeric"]
NORMALISATIONS: dict[Normalisation, str] = {
    "trim": "without spaces around it",
    "lower": "in lower case",
    "upper": "in upper case",
    "capitalise": "capitalized",
    "dashes": "with a dash for spaces, underscores and dots",
    "alphanumeric": "letters and digits only",
}
"""What can be done to a copied value, in the words of a sentence."""

MAX_RULES = 500
MAX_VALUES = 2_000
"""Values of one condition, or entries of one map."""

MAX_ALL_VALUES = 20_000
"""Values of all conditions and maps of a cost tag: what a question compiles and DuckDB compares."""

MAX_TESTS = 5_000
"""Conditions of a cost tag on one dimension each."""

MAX_DEPTH = 8
MAX_COPY_KEYS = 20
MAX_KEY_LENGTH = 100
MAX_NAME_LENGTH = 100
MAX_VALUE_LENGTH = 255
MAX_TESTED_LENGTH = 1_000
MAX_DESCRIPTION_LENGTH = 500


class Test(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lines whose dimension matches any of the values, without regard to case; as a filter of cost does."""

    __test__ = False  # pytest: no class of tests

    dimension: str
    op: Op = "in"
    values: tuple[str, ...] = ()


class AllOf(msgspec.Struct, frozen=True):
    """Lines that every part catches."""

    parts: tuple[Condition, ...]


class AnyOf(msgspec.Struct, frozen=True):
    """Lines that at least one part catches."""

    parts: tuple[Condition, ...]


class Not(msgspec.Struct, frozen=True):
    """Lines that the part does not catch."""

    part: Condition


Condition = Test | AllOf | AnyOf | Not


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """The value of the first of these tag keys that has one on the line, normalised in this order, then mapped.

    `map` is (value without regard to case, what it becomes); other values stay as they are.
    """

    keys: tuple[str, ...]
    normalise: tuple[Normalisation, ...] = ()
    map: tuple[tuple[str, str], ...] = ()


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: exactly one of `value` and `copy`. Days are the line's own, both ends inside.

    Only a rule that copies may have no `when`; a line without any of its keys goes on to the next rule.
    """

    value: str = ""
    copy: Copy | None = None
    when: Condition | None = None
    name: str = ""
    valid_from: date | None = None
    valid_to: date | None = None


class CostTagDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A cost tag as somebody means it, saved or not."""

    key: str
    rules: tuple[Rule, ...] = ()
    default_value: str = ""
    description: str = ""


def tests_of(condition: Condition | None) -> list[Test]:
    """Every condition on one dimension inside, in order."""
    if condition is None:
        return []
    if isinstance(condition, Test):
        return [condition]
    parts = [condition.part] if isinstance(condition, Not) else list(condition.parts)
    return [test for part in parts for test in tests_of(part)]


def dimensions_of(rules: tuple[Rule, ...]) -> list[str]:
    """The names of the dimensions that rules use, each once; copied tags are not among them."""
    return list(dict.fromkeys(test.dimension for rule in rules for test in tests_of(rule.when)))


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
