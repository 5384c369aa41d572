"""The dimension `team`: the team that owns the line's value of the team key; null without an owner."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ibis

from finops.allocation.cost_tags.expression import MANY, CostTagValue, list_position, text_at
from finops.allocation.cost_tags.placement import PlaceExpression
from finops.allocation.models import TeamKey, TeamValue
from finops.costs.dictionary_encoding import DictionaryEncoding, fold_case
from finops.costs.dimensions import ColumnExpression, Dimension, DimensionContext, Expression, registry
from finops.lib.errors import UserError

NO_TEAM = "(no team)"

_KNOWN, _RESOLVING = "team", "resolving team"

NO_TEAM_KEY = "No team key is set, so all cost is in (no team). Members set it on the Teams page."

Owned = tuple[tuple[str, tuple[str, ...]], ...]
"""Teams by name, each with the values that it owns."""


@dataclass(frozen=True)
class _TeamValue:
    """The name of the team that owns a line's value, ignoring case; null without an owner."""

    value: Expression
    owned: Owned

    def __call__(self, table: Any) -> Any:
        if not self.owned:
            return ibis.null("string")
        names = [ibis.literal(text, "string") for text in self.numbers.texts]
        return text_at(ibis.array(names), self.numbers.number(table))

    @cached_property
    def numbers(self) -> DictionaryEncoding:
        """The index of a line's team, found without its name: cost tags compute it from their rules."""
        if not self.owned:
            return DictionaryEncoding((), lambda _table: ibis.null("int64"))
        teams = tuple(team for team, texts in self.owned for _ in texts)
        if not isinstance(self.value, CostTagValue):
            return DictionaryEncoding(teams, self._place)
        if self.value.numbers is None:
            return DictionaryEncoding(teams, PlaceExpression(self.value, self._texts))
        by_text = dict(zip(self._texts, teams, strict=True))
        encoding = self.value.numbers
        return DictionaryEncoding(
            tuple(by_text.get(fold_case(text or "")) for text in encoding.texts), encoding.number
        )

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(fold_case(text) for _, texts in self.owned for text in texts)

    def _place(self, table: Any) -> Any:
        value = self.value(table).lower()
        if len(self._texts) > MANY:
            return self._hashed_place(value)
        return list_position(ibis.array(list(self._texts)), value)

    def _hashed_place(self, value: Any) -> Any:
        """The position of the team's first value. For many different texts IN is faster because it is hashed."""
        arms, place = [], 1
        for _, texts in self.owned:
            arms.append((value.isin([fold_case(text) for text in texts]), ibis.literal(place, "int64")))
            place += len(texts)
        return ibis.cases(*arms, else_=ibis.null("int64"))


def resolve_team(context: DimensionContext, _key: str) -> Dimension:
    """Resolve the dimension `team`. Two PostgreSQL queries per question, however often the question uses the team.

    Raises UserError for a cost tag whose rules use the team while teams own its values.
    """
    if _RESOLVING in context.known:
        raise UserError(
            "Circular reference: the team key is a cost tag whose rules use team. Choose another "
            "team key, or remove team from the rules."
        )
    if _KNOWN not in context.known:
        context.known[_RESOLVING] = True
        try:
            context.known[_KNOWN] = _resolve(context)
        finally:
            del context.known[_RESOLVING]
    dimension: Dimension = context.known[_KNOWN]
    return dimension


def _resolve(context: DimensionContext) -> Dimension:
    key = TeamKey.objects.filter(account=context.account).values_list("dimension", flat=True).first()
    if key is None:
        return Dimension(
            name="team",
            title="Team",
            value=_NOBODY,
            absent=NO_TEAM,
            warnings=(NO_TEAM_KEY,),
            no_values="no team key is set",
        )
    dimension = registry.resolve(context, key, field="team key")
    return Dimension(
        name="team",
        title="Team",
        value=_TeamValue(dimension.value, _load_owned_values(context)),
        absent=NO_TEAM,
        tag_keys=dimension.tag_keys,
        warnings=dimension.warnings,
        no_values=dimension.no_values,
    )


def values_by_team(dimension: Dimension) -> Owned:
    """Return the teams by name, each with its values, of the dimension `team`; empty for other dimensions."""
    return dimension.value.owned if isinstance(dimension.value, _TeamValue) else ()


_NOBODY = _TeamValue(ColumnExpression("service"), ())


def _load_owned_values(context: DimensionContext) -> Owned:
    values: dict[str, list[str]] = defaultdict(list)
    rows = TeamValue.objects.filter(account=context.account).order_by("team__name", "value")
    for team, value in rows.values_list("team__name", "value"):
        values[team].append(value)
    return tuple((team, tuple(owned)) for team, owned in values.items())
