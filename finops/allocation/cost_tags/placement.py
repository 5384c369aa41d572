"""The position of a copied cost tag value in a list, found without building the value. Pure.

A copied text with its rule's number as a prefix is built for each line and cut again. The position in a list is found
once per entry of a Parquet dictionary, as long as only functions of one column are used; lines then compare integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ibis

from finops.allocation.cost_tags.expression import (
    Arm,
    CostTagValue,
    Lookup,
    ResolvedRule,
    list_place,
    list_position,
    number_at,
    sign,
)
from finops.costs.dictionary_encoding import fold_case

BITS = 20
"""Bits of a code for position and tag: a million of each, far above the limits of rules and owned values."""


@dataclass(frozen=True)
class PlaceExpression:
    """The position, from 1, of the line's value among `entries`, which are texts in lower case.

    The number of entries plus one: a rule gives another value. Plus two: no rule gives a value.
    """

    value: CostTagValue
    entries: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        # Each rule, and each tag of a rule that copies, has its code in order; the smallest code is the first match.
        codes = [self._lookup_code(table, lookup) for lookup in self.value.split.lookups]
        for arm in self._arms(conditional=False):
            codes += self._copy_codes(table, arm)
        arms = [
            (self._rule(arm).condition_for(table, arm.when, arm.tag), self._arm_code(table, arm))
            for arm in self._arms(conditional=True)
        ]
        if arms:
            codes.append(ibis.cases(*arms, else_=ibis.null("int64")))
        default = self._place(self.value.default) if self.value.default else self._other + 1
        nothing = self._code(len(self.value.rules) + 1, 0, default)
        return ibis.least(*codes, nothing) % (1 << BITS)

    @property
    def _other(self) -> int:
        return len(self.entries) + 1

    @cached_property
    def _places(self) -> dict[str, int]:
        return {text: place for place, text in reversed(list(enumerate(self.entries, 1)))}

    def _place(self, text: str) -> int:
        return self._places.get(fold_case(text), self._other)

    def _code(self, number: int, tag: int, place: int) -> Any:
        return ibis.literal((number << BITS | tag) << BITS | place, "int64")

    def _rule(self, arm: Arm) -> ResolvedRule:
        return self.value.rules[arm.number - 1]

    def _arms(self, *, conditional: bool) -> Iterator[Arm]:
        for arm in self.value.split.arms:
            rule = self._rule(arm)
            always = rule.copy is not None and not (rule.when or rule.valid_from or rule.valid_to)
            if always is not conditional:
                yield arm

    def _lookup_code(self, table: Any, lookup: Lookup) -> Any:
        codes = [self._code(n, 0, self._place(self.value.rules[n - 1].value)) for _, n in lookup.entries]
        return number_at(ibis.array(codes), lookup.place(table))

    def _copy_codes(self, table: Any, arm: Arm) -> list[Any]:
        """Codes for a non-empty copied value and for the entry that it equals; null where the line has neither."""
        tag = arm.tag or 0
        copied_value = self._rule(arm).copied_value(table, tag)
        # DuckDB returns null for a number outside the list; a CASE instead would be evaluated for every line.
        some = list_place(ibis.array([ibis.literal(1, "int64")]), sign(copied_value.length().cast("int64")))
        codes = [some + self._code(arm.number, tag, self._other - 1)]
        return [*codes, self._mapped_code(table, arm)] if self.entries else codes

    def _arm_code(self, table: Any, arm: Arm) -> Any:
        rule, tag = self._rule(arm), arm.tag or 0
        if rule.copy is None:
            return self._code(arm.number, 0, self._place(rule.value))
        other = self._code(arm.number, tag, self._other)
        return self._mapped_code(table, arm).fill_null(other) if self.entries else other

    def _mapped_code(self, table: Any, arm: Arm) -> Any:
        rule, tag = self._rule(arm), arm.tag or 0
        copied_value = rule.copied_value(table, tag).lower()
        pairs = rule.copy.map if rule.copy else ()
        if not pairs:
            return list_position(ibis.array(list(self.entries)), copied_value) + self._code(
                arm.number, tag, 0
            )
        # Entries of the map come first, because the map is applied first.
        entries = [*((fold_case(old), self._place(new)) for old, new in pairs), *self._places.items()]
        codes = ibis.array([self._code(arm.number, tag, place) for _, place in entries])
        return number_at(codes, list_position(ibis.array([text for text, _ in entries]), copied_value))
