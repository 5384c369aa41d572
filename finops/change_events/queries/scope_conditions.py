"""The rule of `scopes` as a condition of PostgreSQL, so that a limit counts events that match the filters.

`str.casefold` replaces characters one by one, so a comparison needs only the characters that fold to one of the
filter's characters: the condition has them as data and uses no collation. It cannot fold a character to several (`ß`
to `ss`), so it keeps events with such a character if it may matter; `ScopeFilter.passes` decides on these events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Func, QuerySet
from django.db.models.fields.json import KeyTransform
from django.db.models.sql.compiler import SQLCompiler

from finops.change_events.models import ChangeEvent
from finops.change_events.scopes import POSITIVE_OPS, ScopeFilter, fits
from finops.costs.aliases import ALIASES
from finops.costs.former_names import text_passes

Row = TypeVar("Row")
_FOLDED_RANGE: Final = 0x20000
"""`casefold` changes no character above this one; a test checks all of Unicode."""
_SPACES: Final = "".join(char for char in map(chr, range(0x3001)) if char.isspace())
"""The characters that `str.strip` removes."""


def events_that_fit(
    events: QuerySet[ChangeEvent], filters: Sequence[ScopeFilter], most: int
) -> list[ChangeEvent]:
    """Return the first `most` events whose scope fits the filters, in the order of `events`. One query, unless values
    have characters that fold to several."""
    rows = _pages(filter_by_scope(events, filters), most)
    return list(islice((event for event in rows if fits(event.scope, filters)), most))


def ids_that_fit(events: QuerySet[ChangeEvent], filters: Sequence[ScopeFilter], most: int) -> list[int]:
    """Return the ids of `events_that_fit`."""
    rows = _pages(filter_by_scope(events, filters).values_list("pk", "scope"), most)
    return list(islice((pk for pk, scope in rows if fits(scope, filters)), most))


def filter_by_scope(events: QuerySet[ChangeEvent], filters: Iterable[ScopeFilter]) -> QuerySet[ChangeEvent]:
    """Exclude events that do not fit. All remaining events fit, except some with characters that fold to several (see
    above)."""
    for each in filters:
        if _is_storable(each.dimension):
            events = events.filter(_ScopeFits(each))
    return events


def _pages(rows: QuerySet[ChangeEvent, Row], size: int) -> Iterator[Row]:
    start = 0
    while page := list(rows[start : start + size]):
        yield from page
        if len(page) < size:
            return
        start += size


class _ScopeFits(Func):
    """A condition: the scope has no value in the filter's dimension, or a value that passes."""

    output_field: Any = BooleanField()
    conditional = True

    def __init__(self, scope_filter: ScopeFilter) -> None:
        super().__init__(KeyTransform(scope_filter.dimension, "scope"))
        self.scope_filter = scope_filter

    def as_sql(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,
        function: str | None = None,
        template: str | None = None,
        arg_joiner: str | None = None,
        **extra_context: Any,
    ) -> tuple[str, tuple[Any, ...]]:
        named, names = compiler.compile(self.source_expressions[0])
        if self.scope_filter.op == "absent":
            return f"coalesce({named} = '[]', true)", tuple(names)
        condition, params = _value_condition(self.scope_filter)
        exact = (
            f"(SELECT coalesce(bool_or({condition}), true) FROM (SELECT {named} AS named) AS scope,"  # noqa: S608
            " jsonb_array_elements_text(CASE WHEN jsonb_typeof(named) = 'array' THEN named END) AS value)"
        )
        quick, quick_params, otherwise = _quick_condition(self.scope_filter, f"({named})::text", names)
        if not quick:
            return exact, (*params, *names)
        sql = f"CASE WHEN {named} IS NULL THEN true WHEN {quick} THEN {exact} ELSE {otherwise} END"
        return sql, (*names, *quick_params, *params, *names)


def _value_condition(each: ScopeFilter) -> tuple[str, tuple[Any, ...]]:
    """Return SQL over `value`, a value of the scope, with its parameters."""
    op, texts = _positive_op(each), _Texts(each)
    matches = "folded LIKE ANY(%s) OR btrim(folded, %s) = ANY(%s)"
    sql = f"(SELECT ({matches}) <> %s FROM (SELECT translate(value, %s, %s) AS folded) AS texts)"  # noqa: S608
    patterns = [_pattern(op, value) for value in texts.values]
    params: tuple[Any, ...] = (patterns, _SPACES, texts.aliases, op != each.op, *texts.translation)
    if texts.several:
        sql = f"{sql} OR (octet_length(value) > char_length(value) AND value ~ %s)"
        params = (*params, f"[{texts.several}]")
    return sql, params


def _quick_condition(each: ScopeFilter, named: str, names: Sequence[Any]) -> tuple[str, tuple[Any, ...], str]:
    """Return SQL over the array as a text, several times as fast as the exact SQL, with its parameters; and the
    result for events that do not meet it, in which none of the filter's texts occurs. Empty for texts that are not
    ASCII."""
    texts = _Texts(each)
    if not texts.is_ascii:
        return "", (), ""
    patterns = [_pattern("contains", json.dumps(text)[1:-1]) for text in (*texts.values, *texts.aliases)]
    sql, params = f'lower({named} COLLATE "C") LIKE ANY(%s)', (*names, ["[]", *patterns])
    if each.op in POSITIVE_OPS:
        return sql, params, "true"
    return f"{sql} OR octet_length({named}) > char_length({named})", (*params, *names, *names), "false"


class _Texts:
    """The texts of a filter that are compared with folded values of scopes."""

    def __init__(self, each: ScopeFilter) -> None:
        op = _positive_op(each)
        self.values = [value for value in each.values if _is_storable(value)]
        self.aliases = [
            alias
            for alias, names in ALIASES.get(each.dimension, {}).items()
            if any(text_passes(op, name.casefold(), self.values) for name in names)
        ]
        self._letters = frozenset("".join([*self.values, *self.aliases]))

    @property
    def is_ascii(self) -> bool:
        return all(map(str.isascii, self._letters))

    @property
    def translation(self) -> tuple[str, str]:
        """The characters that fold to a character of these texts, and the folded character of each."""
        pairs = [(char, each) for each in sorted(self._letters) for char in _folded_to().get(each, "")]
        return "".join(char for char, _ in pairs), "".join(each for _, each in pairs)

    @property
    def several(self) -> str:
        """The characters that fold to several, of which at least one is in these texts."""
        return "".join(char for char, folded in _folded_to_several() if not self._letters.isdisjoint(folded))


def _positive_op(each: ScopeFilter) -> str:
    return POSITIVE_OPS.get(each.op, each.op)


def _pattern(op: str, value: str) -> str:
    text = re.sub(r"([\\%_])", r"\\\1", value)
    before = "" if op in ("in", "starts_with") else "%"
    after = "" if op in ("in", "ends_with") else "%"
    return f"{before}{text}{after}"


def _is_storable(text: str) -> bool:
    """Return whether PostgreSQL can store the text. A text that it cannot store is in no event."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


@cache
def _folded_to() -> dict[str, str]:
    """Return, for each character, the other characters that fold to it."""
    characters: dict[str, str] = {}
    for char in map(chr, range(_FOLDED_RANGE)):
        folded = char.casefold()
        if len(folded) == 1 and folded != char:
            characters[folded] = characters.get(folded, "") + char
    return characters


@cache
def _folded_to_several() -> list[tuple[str, str]]:
    """Return the characters that fold to several, each with its folded text."""
    pairs = ((char, char.casefold()) for char in map(chr, range(_FOLDED_RANGE)))
    return [pair for pair in pairs if len(pair[1]) > 1]
