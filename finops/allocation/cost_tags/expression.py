"""The expression of a cost tag over the table of cost lines. Pure; hashable, compared by value, compiled once.

The expression first finds each line's rule, as a number, and then the value of that rule. Rules that test one
dimension for equality (most rules) become one lookup per column, because DuckDB runs a function of one column once
per entry of a Parquet dictionary instead of once per line. All other rules are arms of one CASE. The smallest number
wins. (100 equality rules over 12 million lines took 8 times as long as no cost tag when each was an arm.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, TypeGuard

import ibis

from finops.allocation.rules import Copy, Normalisation
from finops.costs.dictionary_encoding import DictionaryEncoding
from finops.costs.dimensions import Expression
from finops.costs.filters import ResolvedFilter

BLANKS = r"[ _.]+"
NO_LETTER_OR_DIGIT = r"[^\p{L}\p{N}]+"


def apply_steps(text: Any, steps: Sequence[Normalisation]) -> Any:
    """Return a tag's value after these steps; empty when nothing remains, null without such a tag."""
    for step in steps:
        text = _STEPS[step](text)
    return text


_STEPS: dict[Normalisation, Callable[[Any], Any]] = {
    "trim": lambda text: text.strip(),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "capitalise": lambda text: text.capitalize(),
    "dashes": lambda text: text.re_replace(BLANKS, "-"),
    "alphanumeric": lambda text: text.re_replace(NO_LETTER_OR_DIGIT, ""),
}


def apply_map(text: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Replace a value by its entry in a map, ignoring case. Values without an entry stay as they are."""
    if not pairs:
        return text
    old = ibis.array([ibis.literal(old).lower() for old, _ in pairs])
    new = ibis.array([new for _, new in pairs])
    return text_at(new, list_position(old, text.lower())).fill_null(text)


Function = Callable[..., Any]


def _builtin(name: str, takes: tuple[str, str], gives: str) -> Function:
    def function(first: Any, second: Any) -> None: ...

    function.__name__ = name
    builtin: Function = ibis.udf.scalar.builtin(function, signature=(takes, gives))
    return builtin


def _sign(number: Any) -> None: ...


_sign.__name__ = "sign"
sign: Function = ibis.udf.scalar.builtin(_sign, signature=(("int64",), "int64"))
"""1 for a positive number, 0 for 0."""

list_position = _builtin("list_position", ("array<string>", "string"), "int64")
"""The position of a text in a list, from 1; null when the list does not have it."""

list_place = _builtin("list_position", ("array<int64>", "int64"), "int64")
"""The position of a number in a list, from 1; null when the list does not have it."""

number_at = _builtin("list_extract", ("array<int64>", "int64"), "int64")
"""The number at a position of a list, from 1; null beyond the list."""

text_at = _builtin("list_extract", ("array<string>", "int64"), "string")
"""The text at a position of a list, from 1; null beyond the list."""

text_from = _builtin("substring", ("string", "int64"), "string")
"""The rest of the text from a character position on, counted from 1."""


@dataclass(frozen=True)
class Join:
    """A combination of conditions: all parts, any part, or (with one part) its negation."""

    join: str
    parts: tuple[Join | ResolvedFilter, ...]

    def condition(self, table: Any) -> Any:
        conditions = [part.condition(table) for part in self.parts]
        if self.join == "not":
            return ~conditions[0].fill_null(False)
        return reduce(and_ if self.join == "all" else or_, conditions)


When = Join | ResolvedFilter


@dataclass(frozen=True)
class ResolvedRule:
    """A rule with its dimensions resolved. `tags` are the columns of a copy, in its order."""

    when: When | None
    value: str
    copy: Copy | None
    tags: tuple[Expression, ...]
    valid_from: date | None
    valid_to: date | None

    def catches(self, table: Any) -> Any:
        """The condition under which this rule alone gives a line a value; null means no."""
        if self.copy is None:
            return self.condition_for(table, self.when)
        return reduce(or_, [self.condition_for(table, self.when, place) for place in range(len(self.tags))])

    def condition_for(self, table: Any, when: When | None, tag: int | None = None) -> Any:
        """Combine a condition with this rule's days and, with `tag`, the check that the line has that tag's value."""
        conditions = [] if when is None else [when.condition(table)]
        if self.valid_from:
            conditions.append(table.charge_date >= ibis.literal(self.valid_from))
        if self.valid_to:
            conditions.append(table.charge_date <= ibis.literal(self.valid_to))
        if tag is not None:
            conditions.append(self.copied_value(table, tag) != "")
        return reduce(and_, conditions)

    def value_expression(self, table: Any, tag: int | None) -> Any:
        """The value that the rule gives: its own, or the value of the tag at position `tag`."""
        if self.copy is None or tag is None:
            return ibis.literal(self.value)
        return apply_map(self.copied_value(table, tag), self.copy.map)

    def copied_value(self, table: Any, tag: int) -> Any:
        return apply_steps(self.tags[tag](table), self.copy.normalise if self.copy else ())

    @property
    def is_plain(self) -> bool:
        """Whether the rule matches on its condition alone: it has no dates and copies no tag."""
        return self.copy is None and self.valid_from is None and self.valid_to is None


@dataclass(frozen=True)
class CostTagValue:
    """The value of a line: from the first matching rule, else the default, else null."""

    rules: tuple[ResolvedRule, ...]
    default: str

    def __call__(self, table: Any) -> Any:
        if not self.rules:
            return ibis.literal(self.default) if self.default else ibis.null("string")
        encoding = self.numbers
        if encoding is None:
            return text_from(self._prefixed_text(table), DIGITS + 1).nullif("")
        return text_at(
            ibis.array([ibis.literal(text, "string") for text in encoding.texts]), encoding.number(table)
        )

    @cached_property
    def numbers(self) -> DictionaryEncoding | None:
        """The number of a line's rule or lookup entry, with the value for each number; None where a rule copies."""
        if any(rule.copy for rule in self.rules):
            return None
        if len(self.split.lookups) == 1 and not self.split.arms and not self.default:
            (lookup,) = self.split.lookups
            return DictionaryEncoding(
                tuple(self.rules[number - 1].value for _, number in lookup.entries), lookup.place
            )
        return DictionaryEncoding((*(rule.value for rule in self.rules), self.default or None), self.number)

    def number(self, table: Any) -> Any:
        """The number of the rule that matches a line, from 1; the number of rules plus one when no rule matches.

        For rules that copy, `placement.PlaceExpression` finds the value.
        """
        nothing = ibis.literal(self._no_rule_number, "int64")
        candidates = [lookup.number(table) for lookup in self.split.lookups]
        if self.split.arms:
            arms = [
                (self._arm_condition(table, arm), ibis.literal(arm.number, "int64"))
                for arm in self.split.arms
            ]
            candidates.append(ibis.cases(*arms, else_=nothing))
        # DuckDB's least ignores nulls, which a lookup returns for a text without an entry.
        return ibis.least(*candidates, nothing)

    def _prefixed_text(self, table: Any) -> Any:
        """The rule's number in digits followed by its value, so that the smallest text belongs to the first rule.

        A number followed by a CASE on it would be evaluated once for each rule that copies, because SQL cannot name
        it.
        """
        nothing = ibis.literal(_digits(self._no_rule_number) + self.default)
        candidates = [lookup.prefixed_text(table, self.rules) for lookup in self.split.lookups]
        arms = [
            (
                self._arm_condition(table, arm),
                ibis.literal(_digits(arm.number))
                + self.rules[arm.number - 1].value_expression(table, arm.tag),
            )
            for arm in self.split.arms
        ]
        return ibis.least(*candidates, ibis.cases(*arms, else_=nothing), nothing)

    def _arm_condition(self, table: Any, arm: Arm) -> Any:
        return self.rules[arm.number - 1].condition_for(table, arm.when, arm.tag)

    @cached_property
    def size(self) -> int:
        """The number of conditions and copied tags evaluated for a line, including those of the cost tags in use."""
        return sum(_size(rule.when) + len(rule.tags) for rule in self.rules)

    @property
    def _no_rule_number(self) -> int:
        return len(self.rules) + 1

    @cached_property
    def split(self) -> RuleSplit:
        return _split(self.rules)


def _size(when: When | None) -> int:
    if when is None:
        return 0
    if isinstance(when, Join):
        return sum(_size(part) for part in when.parts)
    # The dimensions product and team contain the cost tag that they use.
    column = getattr(when.dimension.value, "value", when.dimension.value)
    return 1 + (column.size if isinstance(column, CostTagValue) else 0)


DIGITS = 4


def _digits(number: int) -> str:
    return f"{number:0{DIGITS}}"


@dataclass(frozen=True)
class Lookup:
    """A lookup of a column's text in one list of texts, which returns the first rule that tests for it."""

    column: Expression
    entries: tuple[tuple[str, int], ...]

    def number(self, table: Any) -> Any:
        numbers = ibis.array([ibis.literal(number, "int64") for _, number in self.entries])
        return number_at(numbers, self.place(table))

    def prefixed_text(self, table: Any, rules: Sequence[ResolvedRule]) -> Any:
        texts = [_digits(number) + rules[number - 1].value for _, number in self.entries]
        return text_at(ibis.array(texts), self.place(table))

    def place(self, table: Any) -> Any:
        texts = ibis.array([ibis.literal(text).lower() for text, _ in self.entries])
        return list_position(texts, self.column(table).lower())


@dataclass(frozen=True)
class Arm:
    """A condition that assigns a line to a rule. `tag` is the position of the tag that the rule copies."""

    number: int
    when: When | None
    tag: int | None = None


@dataclass(frozen=True)
class RuleSplit:
    """The rules, separated by how they are evaluated. `arms` are in order."""

    lookups: tuple[Lookup, ...]
    arms: tuple[Arm, ...]


MANY = 100
"""The maximum of entries compared one by one in columns of very many different texts; longer lists are hashed."""


def _split(rules: Sequence[ResolvedRule]) -> RuleSplit:
    entries: dict[Expression, list[tuple[str, int]]] = {}
    arms: list[Arm] = []
    for number, rule in enumerate(rules, start=1):
        if rule.copy is not None:
            arms += [Arm(number, rule.when, tag) for tag in range(len(rule.tags))]
        elif not rule.is_plain or rule.when is None:
            arms.append(Arm(number, rule.when))
        else:
            arms += [Arm(number, clause) for clause in _collect_entries(entries, rule.when, number)]
    lookups = tuple(Lookup(column, tuple(pairs)) for column, pairs in entries.items())
    return RuleSplit(lookups, tuple(arms))


def _collect_entries(
    entries: dict[Expression, list[tuple[str, int]]], when: When, number: int
) -> Iterator[When]:
    """Add the conditions that can be looked up to `entries` and yield the others."""
    for clause in _clauses(when):
        if not _is_lookup(clause):
            yield clause
            continue
        dimension = clause.dimension
        for column in [dimension.value, *([dimension.label] if dimension.label else [])]:
            entries.setdefault(column, []).extend((text, number) for text in clause.matching_values)


def _clauses(when: When) -> Iterator[When]:
    """Yield the alternatives of a condition: each one alone is sufficient."""
    if isinstance(when, Join) and (when.join == "any" or (when.join == "all" and len(when.parts) == 1)):
        for part in when.parts:
            yield from _clauses(part)
    elif isinstance(when, ResolvedFilter) and when.op == "in" and when.wants_absent:
        yield replace(when, op="absent")
        yield replace(when, values=())
    else:
        yield when


def _is_lookup(clause: When) -> TypeGuard[ResolvedFilter]:
    if not isinstance(clause, ResolvedFilter) or clause.op != "in":
        return False
    return len(clause.matching_values) <= MANY or not clause.dimension.has_many_values
