"""Whether the scope of a change event matches filters on cost. Compares names only, without reading cost.

An event that does not name a filter's dimension matches it: a deployment of the service EC2 may concern any team. An
event that names the dimension matches if one of its values does. Different names of bills and people for the same
thing are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from finops.change_events.event_rules import dimension_name
from finops.costs.aliases import candidates
from finops.costs.former_names import text_passes
from finops.lib.chart_markers import DimensionFilter

Scope = Mapping[str, Sequence[str]]
POSITIVE_OPS: Final = {"not_in": "in", "not_contains": "contains"}


@dataclass(frozen=True)
class ScopeFilter:
    """A filter for comparing names. `values` are in small letters and include other names that bills use."""

    dimension: str
    op: str
    values: tuple[str, ...]

    def passes(self, scope: Scope) -> bool:
        named = scope.get(self.dimension)
        if not named:
            return True
        return self.op != "absent" and any(map(self._passes, named))

    def _passes(self, value: str) -> bool:
        op = POSITIVE_OPS.get(self.op, self.op)
        texts = [text.casefold() for text in candidates(self.dimension, value)]
        return any(text_passes(op, text, self.values) for text in texts) != (op != self.op)


def scope_filters_of(filters: Iterable[DimensionFilter]) -> list[ScopeFilter]:
    """The filters of a question about cost, whose dimensions exist."""
    names = ((dimension_name(each.dimension) or each.dimension, each) for each in filters)
    return [_scope_filter(name, each.op, each.values) for name, each in names]


def _scope_filter(name: str, op: str, values: Sequence[str]) -> ScopeFilter:
    every = [text.casefold() for value in values for text in candidates(name, value)]
    return ScopeFilter(name, op, tuple(dict.fromkeys(every)))


def fits(scope: Scope, filters: Iterable[ScopeFilter]) -> bool:
    return all(each.passes(scope) for each in filters)
