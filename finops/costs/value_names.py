"""Readable names that a higher app has for values of a dimension, such as customers' names for their ids.

Bills hold the values; the names are rows of PostgreSQL. So a filter by name is resolved before the lake is asked, and
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
"""Dimensions whose values may be those of something with names; others are not asked for, which saves a query."""


class ValueNames(Protocol):
    """Names of the values of one dimension. Each call is at most two queries of PostgreSQL; texts are kept."""

    def values_with_name(self, text: str) -> Sequence[str]:
        """The values that a name stands for; empty for a text that is a value itself, or nobody's name."""

    def values_containing(self, text: str) -> Sequence[str]:
        """The values whose name has this text in it, in any case."""

    def names(self, values: Collection[str]) -> Mapping[str, str]:
        """The name of each of these values that has one."""


@dataclass(frozen=True)
class FormerName:
    """The id that had an earlier name, and its newest, which is shown."""

    id: str
    newest: str


value_namers: Registry[Callable[[DimensionContext, Dimension], ValueNames | None]] = Registry("value namer")
"""Each returns None for a dimension of whose values it has no names."""


def with_value_names(context: DimensionContext, dimension: Dimension) -> Dimension:
    """The dimension with the names of its values, where an app has some."""
    if dimension.names is not None or not _maybe(dimension.name):
        return dimension
    candidates = (namer(context, dimension) for namer in value_namers.values())
    return replace(dimension, names=next((names for names in candidates if names is not None), None))


def _maybe(name: str) -> bool:
    return name in MAYBE_NAMED or name.startswith(MAYBE_NAMED_FAMILIES)
