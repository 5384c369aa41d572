"""Made-up accounts with planted events, seen by service, team, account and region: which anomalies are one incident is known.

An account has resources, each of one team, account and region and of one service or two (a bucket and its data transfer). An
event moves one resource, or several of one team and service; every second one has another, of other resources, in the
same account on the same days. DEVELOPMENT (seeds 1 to 12) is what `grouping.JOIN_SHARE` and `ROOT_CAUSE_SHARE` were chosen on; HELD_OUT (seeds
from 80,001) has more and unlike sizes, other noise and longer events, and was run once, after that.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from finops.insights.anomalies.causes import ValueSides, causes_of
from finops.insights.anomalies.detection import default_minimum, exact
from finops.insights.anomalies.detector import Detection, Series, detect
from finops.insights.anomalies.grouping import View

START = date(2024, 3, 1)
DAYS, WATCHED, EVENTS = 330, 90, 8
DIMENSIONS = ("service", "team", "account", "region")


@dataclass(frozen=True)
class World:
    seeds: range
    resources: int
    spread: float
    noise: float
    longest: int


WORLDS = {
    "DEVELOPMENT": World(range(1, 13), 60, 0.7, 0.04, 6),
    "HELD_OUT": World(range(80_001, 80_013), 90, 1.0, 0.07, 12),
}


@dataclass(frozen=True)
class Line:
    """Daily cost of one resource in one service; `planted` has the amount that each event adds, by event and day."""

    values: dict[str, str]
    cost: list[float]
    planted: dict[int, list[float]]


@dataclass(frozen=True)
class Case:
    """Anomalies that the detector finds in an account, with the event of each view; `planted` is the cost of all
    events."""

    views: list[View]
    events: dict[int, int]
    planted: float


def cases(world: World) -> list[Case]:
    return [_case(world, random.Random(seed)) for seed in world.seeds]


def _case(world: World, rng: random.Random) -> Case:
    lines = [line for number in range(world.resources) for line in _resource_lines(world, rng, number)]
    planted, first, last = 0.0, 0, 0
    lines_of: list[Line] = []
    for event in range(EVENTS):
        if event % 2:  # beside the event before it: its days and its account, other resources
            account, used = lines_of[0].values["account"], {each.values["resource"] for each in lines_of}
            free = [each for each in lines if each.values["account"] == account]
            free = [each for each in free if each.values["resource"] not in used]
        else:
            first = rng.randrange(DAYS - WATCHED + 20, DAYS - 12)
            last, free = min(DAYS - 1, first + rng.randrange(1, world.longest)), lines
        lines_of = _lines_of_event(rng, free, lines)
        planted += _plant(rng, event, lines_of, first, last)
    return _detections(lines, planted)


def _resource_lines(world: World, rng: random.Random, number: int) -> list[Line]:
    values = {
        "resource": f"r{number}",
        "team": f"team {rng.randrange(6)}",
        "account": f"account {rng.randrange(3)}",
        "region": f"region {rng.randrange(2)}",
    }
    size, weekend = 20 * 10 ** rng.gauss(0, world.spread / 2), rng.uniform(0.5, 1.0)
    lines = []
    for service, share in [(f"service {rng.randrange(9)}", 1.0), ("transfer", 0.6)][
        : 1 + (rng.random() < 0.2)
    ]:
        cost = [
            size * share * (weekend if day % 7 > 4 else 1.0) * math.exp(rng.gauss(0, world.noise))
            for day in range(DAYS)
        ]
        lines.append(Line({**values, "service": service}, cost, {}))
    return lines


def _lines_of_event(rng: random.Random, free: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    """All lines of a resource, or those of one to four resources of its team and service."""
    value = rng.choice(free).values
    if rng.random() < 0.5:
        return [each for each in lines if each.values["resource"] == value["resource"]]
    similar = [each for each in free if all(each.values[name] == value[name] for name in ("team", "service"))]
    return similar[: rng.randrange(1, 5)]


def _plant(rng: random.Random, event: int, lines: Sequence[Line], first: int, last: int) -> float:
    total = sum(sum(line.cost) / DAYS for line in lines)
    height = max(rng.uniform(1.5, 6.0), 120 / total)
    amounts = 0.0
    for line in lines:
        level = sum(line.cost) / DAYS
        line.planted[event] = [0.0] * DAYS
        for day in range(first, last + 1):
            line.planted[event][day] = level * height * rng.uniform(0.9, 1.1)
            line.cost[day] += line.planted[event][day]
        amounts += sum(line.planted[event])
    return amounts


def _detections(lines: Sequence[Line], planted: float) -> Case:
    month = exact(sum(sum(line.cost[-30:]) for line in lines))
    views: list[View] = []
    events: dict[int, int] = {}
    for dimension in DIMENSIONS:
        for value in sorted({line.values[dimension] for line in lines}):
            own = [line for line in lines if line.values[dimension] == value]
            cost = [sum(line.cost[day] for line in own) for day in range(DAYS)]
            smallest = default_minimum(month, exact(sum(cost[-30:])))
            for each in detect(Series(START, cost)).detections:
                if (each.first - START).days >= DAYS - WATCHED and Decimal(abs(each.excess)) >= smallest:
                    view = _view(len(views), dimension, value, own, each)
                    views.append(view)
                    event = _event_of(own, view)
                    if event is not None:
                        events[view.id] = event
    return Case(views, events, planted)


def _view(number: int, dimension: str, value: str, lines: Sequence[Line], detection: Detection) -> View:
    first, last = (detection.first - START).days, (detection.last - START).days
    expected = exact(sum(day.expected for day in detection.days))

    def excess(name: str, shown: int) -> dict[str, Decimal]:
        sides: dict[str, ValueSides] = {}
        for line in lines:
            side = sides.setdefault(line.values[name], ValueSides())
            side.actual += exact(sum(line.cost[first : last + 1]))
            side.before += exact(sum(line.cost[first - 28 : first]))
        rows = causes_of(name, name, sides, expected, shown=shown).rows
        return {row.value: row.excess for row in rows}

    return View(
        id=number,
        source_id=1,
        currency="USD",
        dimension=dimension,
        value=value,
        is_service=dimension == "service",
        first=detection.first,
        last=detection.last,
        impact=exact(detection.excess),
        causes={
            name: excess(name, 5)
            for name in ("resource", "service", "account", "region")
            if name != dimension
        },
        overlaps={name: excess(name, 50) for name in DIMENSIONS if name != dimension},
    )


def _event_of(lines: Sequence[Line], view: View) -> int | None:
    """Return the event with most of the view's days; None for noise, for a return to normal, and for ties."""
    first, last = (view.first - START).days, (view.last - START).days
    amounts = {event: 0.0 for line in lines for event in line.planted}
    for line in lines:
        for event, values in line.planted.items():
            amounts[event] += sum(values[first : last + 1])
    best = max(amounts, key=lambda event: amounts[event], default=None)
    if best is None or view.impact < 0 or amounts[best] < 0.5 * float(view.impact):
        return None
    return best if amounts[best] >= 0.7 * sum(amounts.values()) else None
