"""The expression of a cost tag over the table of cost lines. Pure: hashable and equal by value, compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import and_, or_
from typing import Any

import ibis

from finops.allocation.rules import Copy, Normalisation
from finops.costs.dimensions import Expression
from finops.costs.filters import ResolvedFilter

BLANKS = r"[ _.]+"
NO_LETTER_OR_DIGIT = r"[^\p{L}\p{N}]+"


@dataclass(frozen=True)
class Every:
    """All parts, any part, or (with one part) none of it."""

    join: str
    parts: tuple[Every | ResolvedFilter, ...]

    def condition(self, table: Any) -> Any:
        conditions = [part.condition(table) for part in self.parts]
        if self.join == "not":
            return ~conditions[0]
        return reduce(and_ if self.join == "all" else or_, conditions)


@dataclass(frozen=True)
class ResolvedRule:
    """A rule with its dimensions found. `tags` are the columns of a copy, in its order."""

    when: Every | ResolvedFilter | None
    value: str
    copy: Copy | None
    tags: tuple[Expression, ...]
    valid_from: date | None
    valid_to: date | None

    def catches(self, table: Any) -> Any:
        """The condition that this rule, were it alone, gives a line its value."""
        conditions = [] if self.when is None else [self.when.condition(table)]
        if self.valid_from:
            conditions.append(table.charge_date >= ibis.literal(self.valid_from))
        if self.valid_to:
            conditions.append(table.charge_date <= ibis.literal(self.valid_to))
        if self.copy:
            conditions.append(self.given(table).notnull())
        return reduce(and_, conditions)

    def given(self, table: Any) -> Any:
        """The value that it gives."""
        if self.copy is None:
            return ibis.literal(self.value)
        found = ibis.coalesce(*[normalised(tag(table), self.copy.normalise) for tag in self.tags])
        return mapped(found, self.copy.map)


@dataclass(frozen=True)
class CostTagValue:
    """The value of a line: of the first rule that catches it, else the default, else none."""

    rules: tuple[ResolvedRule, ...]
    default: str

    def __call__(self, table: Any) -> Any:
        rest = ibis.literal(self.default) if self.default else ibis.null("string")
        if not self.rules:
            return rest
        return ibis.cases(*[(rule.catches(table), rule.given(table)) for rule in self.rules], else_=rest)


def normalised(text: Any, steps: Sequence[Normalisation]) -> Any:
    """A tag's value after these steps; null when nothing is left of it."""
    for step in steps:
        text = _STEPS[step](text)
    return text.nullif("")


_STEPS: dict[Normalisation, Callable[[Any], Any]] = {
    "trim": lambda text: text.strip(),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "capitalise": lambda text: text.capitalize(),
    "dashes": lambda text: text.re_replace(BLANKS, "-"),
    "alphanumeric": lambda text: text.re_replace(NO_LETTER_OR_DIGIT, ""),
}


def mapped(text: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """What a map makes of a value, without regard to case; the value itself where it has no entry."""
    if not pairs:
        return text
    folded = text.lower()
    return ibis.cases(*[(folded == ibis.literal(old).lower(), new) for old, new in pairs], else_=text)
