"""Display names that a higher app has for values of a dimension, such as customers' names for their ids.

Bills have the values; the names are rows of PostgreSQL. So a filter by name is resolved before the lake query, and
the values of an answer get their names after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from finops.lib.registry import Registry

if TYPE_CHECKING:
    from finops.costs.dimensions import Dimension, DimensionContext

MAYBE_NAMED = ("account", "product", "customer")
MAYBE_NAMED_FAMILIES = ("tag:", "cost_tag:")
"""Dimensions whose values may have names; other dimensions are not looked up, which saves a query."""


class ValueNames(Protocol):
    """Names of the values of one dimension. Each call is at most two PostgreSQL queries; results are cached."""

    def values_with_name(self, text: str) -> Sequence[str]:
        """Return the values that a name means; empty for a text that is itself a value, or an unknown name."""

    def values_containing(self, text: str) -> Sequence[str]:
        """Return the values whose name contains this text, ignoring case."""

    def names(self, values: Collection[str]) -> Mapping[str, str]:
        """Return the names of these values, where they have one."""


@dataclass(frozen=True)
class FormerName:
    """The id that had an earlier name, and its newest name, which is shown."""

    id: str
    newest: str


value_namers: Registry[Callable[[DimensionContext, Dimension], ValueNames | None]] = Registry("value namer")
"""Functions that return the names, or None for a dimension without any."""


def with_value_names(context: DimensionContext, dimension: Dimension) -> Dimension:
    """Return the dimension with the names of its values, if an app has any."""
    if dimension.names is not None or not _maybe(dimension.name):
        return dimension
    candidates = (namer(context, dimension) for namer in value_namers.values())
    return replace(dimension, names=next((names for names in candidates if names is not None), None))


def _maybe(name: str) -> bool:
    return name in MAYBE_NAMED or name.startswith(MAYBE_NAMED_FAMILIES)
