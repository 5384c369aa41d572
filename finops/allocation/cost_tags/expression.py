"""The expression of a cost tag over the table of cost lines. Pure: hashable and equal by value, compiled once.

First each line's rule is found, as a number, then the value that it gives. Rules that ask one dimension for equality,
which are most, become one lookup for each column: DuckDB runs functions of one column once for each entry of a
Parquet dictionary, not for each line. All others are arms of one CASE; the smallest number wins. (100 rules of
equality over 12 million lines took 8 times as long as no cost tag when each was an arm.)
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
    """A tag's value after these steps; empty when nothing is left of it, null where the line has no such tag."""
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
    """What a map makes of a value, without regard to case; the value itself where it has no entry."""
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
"""The place of a text in a list, from 1; null when it is not there."""

list_place = _builtin("list_position", ("array<int64>", "int64"), "int64")
"""The place of a number in a list, from 1; null when it is not there."""

number_at = _builtin("list_extract", ("array<int64>", "int64"), "int64")
"""The number at a place of a list, from 1; null where there is none."""

text_at = _builtin("list_extract", ("array<string>", "int64"), "string")
"""The text at a place of a list, from 1; null where there is none."""

text_from = _builtin("substring", ("string", "int64"), "string")
"""The text from a character on, counted from 1."""


@dataclass(frozen=True)
class Join:
    """All parts, any part, or (with one part) not it."""

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
    """A rule with its dimensions found. `tags` are the columns of a copy, in its order."""

    when: When | None
    value: str
    copy: Copy | None
    tags: tuple[Expression, ...]
    valid_from: date | None
    valid_to: date | None

    def catches(self, table: Any) -> Any:
        """The condition under which this rule, were it alone, gives a line its value; null is no."""
        if self.copy is None:
            return self.condition_for(table, self.when)
        return reduce(or_, [self.condition_for(table, self.when, place) for place in range(len(self.tags))])

    def condition_for(self, table: Any, when: When | None, tag: int | None = None) -> Any:
        """Another condition, on this rule's days, and that the line has a value of the tag at a place."""
        conditions = [] if when is None else [when.condition(table)]
        if self.valid_from:
            conditions.append(table.charge_date >= ibis.literal(self.valid_from))
        if self.valid_to:
            conditions.append(table.charge_date <= ibis.literal(self.valid_to))
        if tag is not None:
            conditions.append(self.copied_value(table, tag) != "")
        return reduce(and_, conditions)

    def value_expression(self, table: Any, tag: int | None) -> Any:
        """The value that it gives: its own, or that of the tag at a place."""
        if self.copy is None or tag is None:
            return ibis.literal(self.value)
        return apply_map(self.copied_value(table, tag), self.copy.map)

    def copied_value(self, table: Any, tag: int) -> Any:
        return apply_steps(self.tags[tag](table), self.copy.normalise if self.copy else ())

    @property
    def is_plain(self) -> bool:
        """Whether its condition alone says what it catches."""
        return self.copy is None and self.valid_from is None and self.valid_to is None


@dataclass(frozen=True)
class CostTagValue:
    """The value of a line: of the first rule that catches it, else the default, else none."""

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
        """The number of a line's rule, or of its entry in the one lookup, with the texts given; None where one copies."""
        if any(rule.copy for rule in self.rules):
            return None
        if len(self.split.lookups) == 1 and not self.split.arms and not self.default:
            (lookup,) = self.split.lookups
            return DictionaryEncoding(
                tuple(self.rules[number - 1].value for _, number in lookup.entries), lookup.place
            )
        return DictionaryEncoding((*(rule.value for rule in self.rules), self.default or None), self.number)

    def number(self, table: Any) -> Any:
        """The number of the rule that catches a line, from 1; one more than there are rules for no rule.

        Of rules that copy, `placing.Placing` finds it.
        """
        nothing = ibis.literal(self._no_rule_number, "int64")
        candidates = [lookup.number(table) for lookup in self.split.lookups]
        if self.split.arms:
            arms = [
                (self._arm_condition(table, arm), ibis.literal(arm.number, "int64"))
                for arm in self.split.arms
            ]
            candidates.append(ibis.cases(*arms, else_=nothing))
        # DuckDB's least passes over nulls, which is what a lookup finds for no entry.
        return ibis.least(*candidates, nothing)

    def _prefixed_text(self, table: Any) -> Any:
        """The number in digits and the value after it, so that the least text is that of the first rule.

        A number and then a CASE of it would be evaluated once for each rule that copies: SQL cannot name it.
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
        """How many conditions and copied tags a line is asked for, those of the cost tags that it uses with them."""
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
    # The product and the team have the cost tag that they stand on inside.
    column = getattr(when.dimension.value, "value", when.dimension.value)
    return 1 + (column.size if isinstance(column, CostTagValue) else 0)


DIGITS = 4


def _digits(number: int) -> str:
    return f"{number:0{DIGITS}}"


@dataclass(frozen=True)
class Lookup:
    """The first rule that wants the text of a column, from one list of texts with their rules."""

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
    """A condition that gives a line to a rule; `tag` is the place of the tag that it copies."""

    number: int
    when: When | None
    tag: int | None = None


@dataclass(frozen=True)
class RuleSplit:
    """Rules by how they are evaluated; `arms` in order."""

    lookups: tuple[Lookup, ...]
    arms: tuple[Arm, ...]


MANY = 100
"""Entries that are looked up in columns of very many different texts, one after the other; more are hashed."""


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
    """Adds what can be looked up to the entries; gives the other conditions."""
    for clause in _clauses(when):
        if not _is_lookup(clause):
            yield clause
            continue
        dimension = clause.dimension
        for column in [dimension.value, *([dimension.label] if dimension.label else [])]:
            entries.setdefault(column, []).extend((text, number) for text in clause.wanted)


def _clauses(when: When) -> Iterator[When]:
    """The conditions any of which is enough."""
    if isinstance(when, Join) and (when.join == "any" or (when.join == "all" and len(when.parts) == 1)):
        for part in when.parts:
            yield from _clauses(part)
    elif isinstance(when, ResolvedFilter) and when.op == "in" and when.wants_absent:
        yield replace(when, op="absent")
        yield replace(when, asked=())
    else:
        yield when


def _is_lookup(clause: When) -> TypeGuard[ResolvedFilter]:
    if not isinstance(clause, ResolvedFilter) or clause.op != "in":
        return False
    return len(clause.wanted) <= MANY or not clause.dimension.has_many_values
