"""A scope as people write it: `dimension=value` a line, several values of a dimension on lines of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from finops.costs.spend_query import Filter
from finops.lib.errors import UserError
from finops.lib.sentences import quote

MAX_TEXT: Final = 20_000


def scope_from_text(text: str) -> dict[str, list[str]]:
    """Raises UserError for a line that is no `dimension=value`. Whether there is the dimension is not looked at."""
    scope: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        dimension, equals, value = (part.strip() for part in line.partition("="))
        if not (dimension and equals and value):
            raise UserError(
                f"{quote(line[:60])} is no scope. Write dimension=value, for example: service=Amazon EC2.",
                field="scope",
                value=line[:60],
            )
        scope.setdefault(dimension, []).append(value)
    return scope


def text_of_scope(scope: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(f"{name}={value}" for name, values in scope.items() for value in values)


def scope_of_filters(filters: Iterable[Filter]) -> tuple[dict[str, list[str]], int]:
    """The scope that filters on cost leave, and how many of them a scope cannot say, such as one that leaves values out. Of two
    filters on a dimension the second says nothing that the first does not, or cannot be said."""
    scope: dict[str, list[str]] = {}
    unknown = 0
    for item in filters:
        values = [value for value in item.values if value and "\n" not in value]
        if item.op == "in" and len(values) == len(item.values) and values and item.dimension not in scope:
            scope[item.dimension] = values
        else:
            unknown += 1
    return scope, unknown
