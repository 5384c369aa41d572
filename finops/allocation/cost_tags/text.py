"""Rules of cost tags in words, for pages and answers."""

from __future__ import annotations

from typing import get_args

from finops.allocation.rules import NORMALISATIONS, AllOf, AnyOf, Condition, Not, Rule, Test
from finops.costs.spend_query import Op
from finops.lib.sentences import truncate

SHOWN_VALUES = 4
SHOWN_LENGTH = 60

OPS: dict[Op, str] = {
    "in": "is",
    "not_in": "is not",
    "contains": "contains",
    "not_contains": "does not contain",
    "starts_with": "starts with",
    "ends_with": "ends with",
    "absent": "has no value",
}
assert set(OPS) == set(get_args(Op))  # noqa: S101 every operator has its words


def condition_words(condition: Condition | None) -> str:
    """Describe a condition: `tag:env is prod or live, and not (service is Tax)`. Without a condition: every line."""
    return "every line" if condition is None else _words(condition)


def _words(condition: Condition) -> str:
    if isinstance(condition, Test):
        return f"{condition.dimension} {OPS[condition.op]} {_values(condition)}".rstrip()
    if isinstance(condition, Not):
        return f"not {_inside(condition.part)}"
    join = ", and " if isinstance(condition, AllOf) else ", or "
    if len(condition.parts) == 1:
        return _words(condition.parts[0])
    return join.join(_inside(part) for part in condition.parts)


def _inside(condition: Condition) -> str:
    nested = isinstance(condition, AllOf | AnyOf)
    return f"({_words(condition)})" if nested else _words(condition)


def _values(test: Test) -> str:
    shown = [truncate(value, SHOWN_LENGTH) for value in test.values[:SHOWN_VALUES]]
    more = len(test.values) - len(shown)
    return " or ".join([*shown, f"{more} more"] if more else shown)


def outcome_words(rule: Rule) -> str:
    """Describe the value that a rule gives: `Payments`; `copy of tag team, else Team, in small letters`."""
    if rule.copy is None:
        return rule.value
    steps = [NORMALISATIONS[step] for step in rule.copy.normalise]
    renamed = [f"{len(rule.copy.map)} renamed"] if rule.copy.map else []
    return ", ".join([f"copy of tag {', else '.join(rule.copy.keys)}", *steps, *renamed])


def validity_words(rule: Rule) -> str:
    """Describe the dates of a rule: `from 2026-01-01 to 2026-03-31`; empty without dates."""
    days = [("from", rule.valid_from), ("to", rule.valid_to)]
    return " ".join(f"{word} {day}" for word, day in days if day)


def rule_words(rule: Rule) -> str:
    """Describe the whole rule in one line, without its name."""
    text = f"{condition_words(rule.when)} → {outcome_words(rule)}"
    days = validity_words(rule)
    return f"{text} ({days})" if days else text
