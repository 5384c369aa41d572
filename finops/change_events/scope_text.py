"""A scope as text: one `dimension=value` a line, several values of a dimension on separate lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from finops.costs.spend_query import Filter
from finops.lib.errors import UserError
from finops.lib.sentences import quote

MAX_TEXT: Final = 20_000


def scope_from_text(text: str) -> dict[str, list[str]]:
    """Parse a scope. Raises UserError for a line that is not `dimension=value`. Does not check that the dimension
    exists."""
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
    """Return the scope of filters on cost, and the number of filters that a scope cannot express, such as a filter
    that excludes values. A second filter on a dimension is either implied by the first or cannot be expressed."""
    scope: dict[str, list[str]] = {}
    unknown = 0
    for item in filters:
        values = [value for value in item.values if value and "\n" not in value]
        if item.op == "in" and len(values) == len(item.values) and values and item.dimension not in scope:
            scope[item.dimension] = values
        else:
            unknown += 1
    return scope, unknown
