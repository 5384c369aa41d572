"""The types of a cost tag's rules. Equal values are the same rules, and are hashable.

A rule matches lines and gives them a value: its own, or one copied from the line's tags. This module knows no
account: `finops.allocation.cost_tags` checks whether a dimension exists.
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
"""The operations on a copied value, in the words of a sentence."""

MAX_RULES = 500
MAX_VALUES = 2_000
"""The maximum of values of one condition, and of entries of one map."""

MAX_ALL_VALUES = 20_000
"""The maximum of values of all conditions and maps of a cost tag: what a query compiles and DuckDB compares."""

MAX_TESTS = 5_000
"""The maximum of conditions (each on one dimension) of a cost tag."""

MAX_DEPTH = 8
MAX_COPY_KEYS = 20
MAX_KEY_LENGTH = 100
MAX_NAME_LENGTH = 100
MAX_VALUE_LENGTH = 255
MAX_TESTED_LENGTH = 1_000
MAX_DESCRIPTION_LENGTH = 500


class Test(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lines whose dimension matches any of the values, ignoring case, as a cost filter does."""

    __test__ = False  # pytest: no class of tests

    dimension: str
    op: Op = "in"
    values: tuple[str, ...] = ()


class AllOf(msgspec.Struct, frozen=True):
    """Lines that every part matches."""

    parts: tuple[Condition, ...]


class AnyOf(msgspec.Struct, frozen=True):
    """Lines that at least one part matches."""

    parts: tuple[Condition, ...]


class Not(msgspec.Struct, frozen=True):
    """Lines that the part does not match."""

    part: Condition


Condition = Test | AllOf | AnyOf | Not


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """The value of the first of these tag keys that the line has, normalised in this order, then mapped.

    `map` is (value, ignoring case; its replacement); other values stay as they are.
    """

    keys: tuple[str, ...]
    normalise: tuple[Normalisation, ...] = ()
    map: tuple[tuple[str, str], ...] = ()


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule with exactly one of `value` and `copy`. Dates are compared with the line's day; both are inclusive.

    Only a rule that copies may omit `when`; a line without any of its keys goes on to the next rule.
    """

    value: str = ""
    copy: Copy | None = None
    when: Condition | None = None
    name: str = ""
    valid_from: date | None = None
    valid_to: date | None = None


class CostTagDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A cost tag, saved or not."""

    key: str
    rules: tuple[Rule, ...] = ()
    default_value: str = ""
    description: str = ""


def tests_of(condition: Condition | None) -> list[Test]:
    """Yield every condition on one dimension, in order."""
    if condition is None:
        return []
    if isinstance(condition, Test):
        return [condition]
    parts = [condition.part] if isinstance(condition, Not) else list(condition.parts)
    return [test for part in parts for test in tests_of(part)]


def dimensions_of(rules: tuple[Rule, ...]) -> list[str]:
    """Return the names of the dimensions that the conditions use, each once. Copied tags are not included."""
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
