"""Change events near a change of spend: how the cost in the scope of each changed between the two sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final

import ibis

from finops.change_events.models import ChangeEvent
from finops.change_events.queries import nearest_events
from finops.change_events.ranking import ScopeCost, best_candidates, time_share
from finops.change_events.schemas import ChangeCandidate
from finops.costs.dimensions import Dimension, registry
from finops.costs.filters import ResolvedFilter, all_of, resolved_filter
from finops.costs.former_names import with_newest_names
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.costs.value_names import with_value_names
from finops.insights.cost_scope import CostReader
from finops.insights.spend_change.lake import ChangePlan
from finops.lib.errors import UserError
from finops.lib.money import exact_difference, exact_product, ratio
from finops.lib.periods import DateRange

MAX_READ: Final = 2_000
"""Maximum number of events that are evaluated, those nearest to the first day with the change."""
MAX_SCOPES: Final = 40
"""Maximum number of different scopes whose cost is summed, those of events with the best times first."""

NOT_ALL_EVENTS: Final = (
    f"These days have more than {MAX_READ:,} change events: candidates are from the {MAX_READ // 2:,} before and the "
    f"{MAX_READ // 2:,} after the start of {{day}}."
)

Conditions = tuple[ResolvedFilter, ...]


def change_candidates(reader: CostReader, plan: ChangePlan) -> tuple[list[ChangeCandidate], str]:
    """Return events on the compared days that the reader may see, with matching cost that changed; and a sentence if
    there are more events than are evaluated.

    One query; one lake query if there are events.
    """
    days = DateRange(plan.previous.start, plan.current.end)
    events, is_cut = nearest_events(days, plan.current.start, MAX_READ)
    timed = [(each, _time(each, plan)) for each in events]
    # Of resources there may be thousands, each a scope of its own: they come after the others within MAX_SCOPES.
    timed = sorted(
        (pair for pair in timed if pair[1] > 0), key=lambda pair: ("resource" in pair[0].scope, -pair[1])
    )
    scopes = _Scopes(reader)
    with_scope = [(event, part, scopes.of(event)) for event, part in timed]
    event_scopes = list(dict.fromkeys(scope for _event, _part, scope in with_scope if scope is not None))
    moved = _fit_of_scopes(reader, plan, event_scopes[:MAX_SCOPES]) if event_scopes else {}
    best = best_candidates(
        (event, exact_product(part, moved[scope]))
        for event, part, scope in with_scope
        if scope is not None and scope in moved
    )
    return best, NOT_ALL_EVENTS.format(day=plan.current.start) if is_cut else ""


def _time(event: ChangeEvent, plan: ChangePlan) -> Decimal:
    return time_share(event.occurred_at.astimezone(UTC).date(), plan.current, plan.previous)


class _Scopes:
    """Scopes of events as filters; each dimension is resolved once."""

    def __init__(self, reader: CostReader) -> None:
        self.reader = reader
        self.dimensions: dict[str, Dimension | None] = {}

    def of(self, event: ChangeEvent) -> Conditions | None:
        """Return the filters of a scope; None if one of its dimensions no longer exists."""
        filters = []
        for name, values in sorted(event.scope.items()):
            dimension = self._dimension(name)
            if dimension is None:
                return None
            filters.append(resolved_filter(dimension, "in", values))
        return tuple(filters)

    def _dimension(self, name: str) -> Dimension | None:
        if name not in self.dimensions:
            context = self.reader.context
            try:
                dimension = with_value_names(context, registry.resolve(context, name))
            except UserError:
                self.dimensions[name] = None
            else:
                self.dimensions[name] = with_newest_names(context, dimension)
        return self.dimensions[name]


@dataclass(frozen=True)
class ScopesBuild:
    """Sums by currency: `now0`, `before0` of all lines, `now1` … of each scope."""

    plan: ChangePlan
    scopes: tuple[Conditions, ...]

    def __call__(self, table: Any) -> Any:
        plan = self.plan
        here = plan.is_now(table) | plan.is_before(table)
        conditions = [here, is_counted(table, plan.categories), *all_of(table, plan.filters)]
        lines = table.filter(reduce(and_, conditions))
        zero = ibis.literal(Decimal(0), type="decimal(38, 18)")
        amount = lines[COST_COLUMNS[plan.basis]].coalesce(zero)
        sides = {"now": plan.is_now(lines), "before": plan.is_before(lines)}
        columns = {
            f"{side}{place}": ibis.ifelse(
                reduce(and_, all_of(lines, scope), on_side).fill_null(False), amount, zero
            )
            for side, on_side in sides.items()
            for place, scope in enumerate(self.scopes)
        }
        selected = lines.select(currency=lines.currency.coalesce(NO_CURRENCY), **columns)
        return selected.group_by("currency").aggregate(**{name: selected[name].sum() for name in columns})


def _fit_of_scopes(
    reader: CostReader, plan: ChangePlan, scopes: Sequence[Conditions]
) -> Mapping[Conditions, Decimal]:
    """Return how well each scope fits the change, in the currency in which it fits best."""
    every: tuple[Conditions, ...] = ((), *(scope for scope in scopes if scope))
    keys = [key for scope in every for item in scope for key in item.dimension.tag_keys]
    rows = reader.run(plan.days, ScopesBuild(plan, every), [*plan.tag_keys, *keys]).to_pylist()
    fits: dict[Conditions, Decimal] = {}
    for row in rows:
        for scope, moved in zip(every, _sides(row, len(every), plan), strict=True):
            fits[scope] = max(fits.get(scope, Decimal(0)), moved.fit)
    return fits


def _sides(row: Mapping[str, Any], count: int, plan: ChangePlan) -> Iterator[ScopeCost]:
    """Return both sides as daily means, since the longer of two sides would always cost more."""
    lengths = {"now": Decimal(plan.current.days), "before": Decimal(plan.previous.days)}

    def daily(side: str, place: int) -> Decimal:
        return ratio(row[f"{side}{place}"], lengths[side]) or Decimal(0)

    whole = exact_difference(daily("now", 0), daily("before", 0))
    for place in range(count):
        yield ScopeCost(daily("now", place), daily("before", place), whole)
