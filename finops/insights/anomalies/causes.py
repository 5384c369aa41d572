"""Root causes of an anomaly: the excess of each value of a dimension, and changes around its days.

    excess of a value = its actual cost - its expected cost
    its expected cost = expected x cost of the value / total cost, over the four weeks before

The excesses of all values add up to the anomaly's excess exactly. Apps that know of changes register a finder in
`change_event_finders`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal

import msgspec

from accounts.models import AuditEntry
from finops.insights.models import Anomaly
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.registry import Registry

SHOWN = 5
FINEST = ("resource", "actor", "usage_type", "service", "account", "region")
_PLACES = Decimal("0.000000000000000001")
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)
ZERO = Decimal(0)


class AnomalyCause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """share: of the anomaly's excess."""

    value: str
    actual: Decimal
    expected: Decimal
    excess: Decimal
    share: Decimal | None
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.value


class Causes(msgspec.Struct, frozen=True, kw_only=True):
    """Causes by one dimension: its values by size of excess, and the sum of the `other_values`."""

    dimension: str
    title: str
    rows: list[AnomalyCause]
    other_values: int
    other_excess: Decimal

    @property
    def total(self) -> Decimal:
        return exact_sum([*(row.excess for row in self.rows), self.other_excess])


@dataclass
class ValueSides:
    """Cost of a value in the anomaly's days, and in the four weeks before."""

    actual: Decimal = ZERO
    before: Decimal = ZERO
    label: str = ""


def causes_of(
    dimension: str, title: str, sides: Mapping[str, ValueSides], expected: Decimal, *, shown: int = SHOWN
) -> Causes:
    """Return the causes by one dimension. They add up to the excess: the sum of actual less `expected`."""
    parts = _parts({value: side.before for value, side in sides.items()}, sides, expected)
    whole = exact_difference(exact_sum(side.actual for side in sides.values()), expected)
    rows = [
        _cause(value, side, parts[value], whole)
        for value, side in sides.items()
        if side.actual or parts[value]
    ]
    rows.sort(key=lambda row: (-row.excess.copy_abs(), row.value))
    return Causes(
        dimension=dimension,
        title=title,
        rows=rows[:shown],
        other_values=len(rows[shown:]),
        other_excess=exact_sum(row.excess for row in rows[shown:]),
    )


def merged_causes(parts: Sequence[Sequence[Causes]], impacts: Sequence[Decimal]) -> list[Causes]:
    """Return the causes of several anomalies that share no line, as those of one anomaly; they add up to the sum of
    the `impacts`. The excess of values beyond the largest, and of an anomaly without the dimension, is in other
    values."""
    whole = exact_sum(impacts)
    titles = {each.dimension: each.title for causes in parts for each in causes}
    merged = []
    for dimension, title in titles.items():
        of_dimension = [
            next((each for each in causes if each.dimension == dimension), None) for causes in parts
        ]
        by_value: dict[str, list[AnomalyCause]] = {}
        for row in (row for each in of_dimension if each is not None for row in each.rows):
            by_value.setdefault(row.value, []).append(row)
        rows = [_sum_of(same, whole) for same in by_value.values()]
        rows.sort(key=lambda row: (-row.excess.copy_abs(), row.value))
        missing = [impact for each, impact in zip(of_dimension, impacts, strict=True) if each is None]
        member_causes = [each for each in of_dimension if each is not None]
        excess = [
            *(row.excess for row in rows[SHOWN:]),
            *(each.other_excess for each in member_causes),
            *missing,
        ]
        count = len(rows[SHOWN:]) + sum(each.other_values for each in member_causes) + len(missing)
        merged.append(
            Causes(
                dimension=dimension,
                title=title,
                rows=rows[:SHOWN],
                other_values=count,
                other_excess=exact_sum(excess),
            )
        )
    return merged


def _sum_of(rows: Sequence[AnomalyCause], whole: Decimal) -> AnomalyCause:
    """Return the sum of one value over several anomalies."""
    excess = exact_sum(row.excess for row in rows)
    return AnomalyCause(
        value=rows[0].value,
        label=rows[0].label,
        actual=exact_sum(row.actual for row in rows),
        expected=exact_sum(row.expected for row in rows),
        excess=excess,
        share=ratio(excess, whole),
    )


def _cause(value: str, side: ValueSides, part: Decimal, whole: Decimal) -> AnomalyCause:
    """Return a cause: excess = actual - expected of the value, share = excess / total excess. Causes add up to the
    impact."""
    excess = exact_difference(side.actual, part)
    return AnomalyCause(
        value=value,
        label=side.label if side.label != value else "",
        actual=side.actual,
        expected=part,
        excess=excess,
        share=ratio(excess, whole),
    )


def _parts(
    before: Mapping[str, Decimal], sides: Mapping[str, ValueSides], expected: Decimal
) -> dict[str, Decimal]:
    """Return `expected` by value to 18 decimal places; the largest value gets the rounding remainder."""
    whole = exact_sum(before.values())
    if not before or not expected:
        return dict.fromkeys(before, ZERO)
    if whole <= 0:
        largest = max(sides, key=lambda value: (sides[value].actual, value))
        return {**dict.fromkeys(before, ZERO), largest: expected}
    parts = {
        value: _CONTEXT.divide(_CONTEXT.multiply(expected, cost), whole).quantize(_PLACES, context=_CONTEXT)
        for value, cost in before.items()
    }
    largest = max(before, key=lambda value: (before[value], value))
    parts[largest] = exact_difference(
        expected, exact_sum(part for value, part in parts.items() if value != largest)
    )
    return parts


def excess_over_mean(now: Decimal, days: int, earlier: Decimal, earlier_days: int) -> Decimal:
    """Return the cost of some days less the daily mean of earlier days x the number of days."""
    return now - earlier * days / max(earlier_days, 1)


def top_causes(causes: Sequence[Causes], count: int = 3) -> list[tuple[Causes, AnomalyCause]]:
    """Return the largest value of each dimension: dimensions with several values first, then the finest dimension."""
    firsts = [(each, each.rows[0]) for each in causes if each.rows and each.rows[0].share is not None]
    return sorted(firsts, key=lambda pair: _rank(*pair))[:count]


def _rank(causes: Causes, cause: AnomalyCause) -> tuple[bool, Decimal, int]:
    share = min(cause.share or ZERO, Decimal(1)).quantize(Decimal("0.1"))
    return len(causes.rows) + causes.other_values == 1, -share, place_of(causes.dimension)


def place_of(dimension: str) -> int:
    """Return the rank of a dimension among those of causes, the finest first."""
    return FINEST.index(dimension) if dimension in FINEST else len(FINEST)


MOST = 20
BEFORE, AFTER = timedelta(days=3), timedelta(days=1)
"""Days before the anomaly's first day and after its last in which a change is related to it."""


class AnomalyEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change near an anomaly."""

    at: datetime
    what: str
    who: str = ""


change_event_finders: Registry[Callable[[Anomaly], list[AnomalyEvent]]] = Registry("change events")


def change_events(anomaly: Anomaly) -> list[AnomalyEvent]:
    """Return the changes around an anomaly, oldest first; at most MOST."""
    events = [event for finder in change_event_finders.values() for event in finder(anomaly)]
    return sorted(events, key=lambda event: event.at)[:MOST]


_EVENT_TEXTS = {
    "cost_source.create": "The cost source {target} was connected.",
    "cost_tag.create": "The cost tag {target} was created.",
    "cost_tag.change": "The rules of cost tag {target} were changed.",
    "team_key.set": "The team key was changed to {target}.",
    "team.change": "The team {target} was changed.",
    "team_value.own": "Team ownership was changed: {target}.",
    "team_value.release": "Team ownership was changed: {target}.",
}
IMPORTED = "cost_import.finish"
LATE = 3
"""Day of a month from which an import of the previous month replaces complete data."""


@change_event_finders.register("audit log")
def _audit_events(anomaly: Anomaly) -> list[AnomalyEvent]:
    """Return audited changes of the anomaly's scope on these days, and imports that replaced complete months."""
    start = datetime.combine(anomaly.first_day, time.min, UTC) - BEFORE
    end = datetime.combine(anomaly.last_day, time.max, UTC) + AFTER
    rows = AuditEntry.objects.filter(at__gte=start, at__lte=end, action__in=[*_EVENT_TEXTS, IMPORTED])
    texts = [(row, _event_text(row, anomaly)) for row in rows.order_by("at", "id")[:500]]
    return [AnomalyEvent(at=row.at, what=text, who=row.actor_label) for row, text in texts if text]


def _event_text(row: AuditEntry, anomaly: Anomaly) -> str:
    """Return the sentence for an audited change; empty for a change of another scope."""
    source_name = anomaly.source.name
    if row.action == IMPORTED:
        earlier = [month for month in row.detail.get("months", ()) if month < f"{row.at:%Y-%m}"]
        if not earlier or row.at.day < LATE or not row.target.startswith(f"{source_name}: "):
            return ""
        return f"An import replaced {min(earlier)} of {source_name}."
    about = {
        "cost_source": row.target == source_name,
        "cost_tag": anomaly.dimension == f"cost_tag:{row.target}",
    }
    is_about = about.get(row.action.partition(".")[0], anomaly.dimension == "team")
    return _EVENT_TEXTS[row.action].format(target=row.target) if is_about else ""
