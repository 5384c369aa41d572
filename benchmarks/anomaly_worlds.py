"""Made-up daily cost with planted anomalies, for tuning and for judging the detector. The two share no shape, no noise
and no seed:

* TUNING (seeds 1 to 999) is what constants of `finops.insights.anomalies` were chosen on.
* JUDGING (seeds from 90,001) is what `bench_anomalies` reports. It was written before the first tuning, and no constant was
  chosen by looking at it.
"""

from __future__ import annotations

import calendar
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

DAYS, QUIET_DAYS = 270, 180
"""Nothing is planted in the first half year, which is for learning."""

KINDS = ("spike", "step", "ramp", "drop", "new")

VISIBLE = 0.3
"""Planted anomalies change cost by at least this many average days; smaller ones are not counted as planted."""

Shape = Callable[[random.Random], Callable[[date, int], float]]
Noise = Callable[[random.Random], Callable[[], float]]


@dataclass(frozen=True)
class PlantedAnomaly:
    """The change to a series and its days."""

    kind: str
    first: int
    last: int


@dataclass(frozen=True)
class Case:
    """One series; `planted` is None if it has no anomaly."""

    name: str
    start: date
    values: Sequence[float]
    planted: PlantedAnomaly | None


@dataclass(frozen=True)
class World:
    """A family of series: shapes, noise, anomaly types, first day."""

    name: str
    first_seed: int
    start: date
    shapes: dict[str, Shape]
    noises: dict[str, Noise]
    plant: Callable[[random.Random, str, list[float]], PlantedAnomaly]


def cases(world: World, count: int) -> list[Case]:
    """Return `count` series of a world: a third without anomaly, the others with each type in turn."""
    result = []
    for number in range(count):
        rng = random.Random(world.first_seed + number)
        start = world.start + timedelta(days=rng.randrange(0, 60))
        shape_name = sorted(world.shapes)[number % len(world.shapes)]
        noise_name = rng.choice(sorted(world.noises))
        shape, noise = world.shapes[shape_name](rng), world.noises[noise_name](rng)
        size = 10 ** rng.uniform(0, 4)
        days = [start + timedelta(days=index) for index in range(DAYS)]
        values = [max(0.0, size * shape(day, index) * noise()) for index, day in enumerate(days)]
        kind = [*KINDS, "", "", ""][rng.randrange(8)]
        before = list(values)
        planted = world.plant(rng, kind, values) if kind else None
        if planted and _measured_change(before, values, planted) < VISIBLE * sum(before) / len(before):
            planted = None  # such as a drop of a day that cost nothing anyway
        result.append(Case(f"{shape_name}, {noise_name} {number}", start, values, planted))
    return result


def _measured_change(before: Sequence[float], after: Sequence[float], planted: PlantedAnomaly) -> float:
    """Return the cost change from the first planted day on; for new series, all cost."""
    if planted.kind == "new":
        return sum(after)
    return abs(sum(after[planted.first :]) - sum(before[planted.first :]))


# What the detector was tuned on.


def _steady_week(rng: random.Random) -> Callable[[date, int], float]:
    weekend, growth = rng.uniform(0.4, 1.0), rng.uniform(0.0, 0.4) / 365
    return lambda day, index: (weekend if day.weekday() > 4 else 1.0) * (1 + growth * index)


def _office(rng: random.Random) -> Callable[[date, int], float]:
    return lambda day, index: 1.0 if day.weekday() < 5 else 0.0


def _flat(rng: random.Random) -> Callable[[date, int], float]:
    growth = rng.uniform(-0.2, 0.6) / 365
    return lambda day, index: 1 + growth * index


def _month_end(rng: random.Random) -> Callable[[date, int], float]:
    more = rng.uniform(1.0, 6.0)

    def value(day: date, index: int) -> float:
        last = calendar.monthrange(day.year, day.month)[1]
        return 1 + (more if day.day >= last - 1 or day.day == 1 else 0.0)

    return value


def _training_week(rng: random.Random) -> Callable[[date, int], float]:
    first, idle = rng.choice([3, 8, 15]), rng.choice([0.0, 0.2])
    return lambda day, index: 1.0 if first <= day.day < first + 7 else idle


def _covered_month_end(rng: random.Random) -> Callable[[date, int], float]:
    """Invoice runs covered by reservations at weekends: the bill shows only those on weekdays."""
    more = rng.uniform(0.3, 1.5)

    def value(day: date, index: int) -> float:
        last = calendar.monthrange(day.year, day.month)[1]
        runs = day.day >= last - 1 or day.day == 1
        return 1 + (more if runs and day.weekday() < 5 else 0.0)

    return value


def _customers(rng: random.Random) -> Callable[[date, int], float]:
    """A step up of a few percent for each new customer."""
    wins = sorted(rng.randrange(DAYS) for _ in range(rng.randrange(3, 12)))
    size = rng.uniform(0.02, 0.06)
    return lambda day, index: 1 + size * sum(win <= index for win in wins)


def _gaussian(rng: random.Random) -> Callable[[], float]:
    size = rng.uniform(0.01, 0.12)
    return lambda: 1 + rng.gauss(0, size)


def _uniform(rng: random.Random) -> Callable[[], float]:
    size = rng.uniform(0.02, 0.2)
    return lambda: 1 + rng.uniform(-size, size)


def _spiky(rng: random.Random) -> Callable[[], float]:
    """Low noise with occasional spikes."""
    size, loud = rng.uniform(0.02, 0.05), rng.uniform(0.1, 0.25)
    return lambda: 1 + rng.gauss(0, loud if rng.random() < 0.08 else size)


def _wandering(rng: random.Random) -> Callable[[], float]:
    """A mean-reverting random walk."""
    step, place = rng.uniform(0.005, 0.02), [0.0]

    def value() -> float:
        place[0] += rng.uniform(-step, step) * 1.7 - 0.06 * place[0]
        return 1 + place[0]

    return value


def _plant_plainly(rng: random.Random, kind: str, values: list[float]) -> PlantedAnomaly:
    first = rng.randrange(QUIET_DAYS, DAYS - 35)
    level = sum(values[first - 28 : first]) / 28
    if kind == "spike":
        last = first + rng.choice([0, 0, 1, 2])
        _add(values, first, last, lambda index: level * rng.uniform(1.0, 5.0))
    elif kind == "step":
        last, more = DAYS - 1, rng.uniform(0.4, 2.0)
        _multiply(values, first, last, lambda index: 1 + more)
    elif kind == "ramp":
        last, more = first + 34, rng.uniform(0.6, 1.5)
        _multiply(values, first, DAYS - 1, lambda index: 1 + more * min(1.0, (index - first) / 34))
    elif kind == "drop":
        last, less = first + rng.choice([0, 1, 3, 6]), rng.uniform(0.5, 1.0)
        _multiply(values, first, last, lambda index: 1 - less)
    else:
        last = DAYS - 1
        values[:first] = [0.0] * first
    return PlantedAnomaly(kind, first, last)


def _add(values: list[float], first: int, last: int, more: Callable[[int], float]) -> None:
    for index in range(first, min(last, DAYS - 1) + 1):
        values[index] += more(index)


def _multiply(values: list[float], first: int, last: int, factor: Callable[[int], float]) -> None:
    for index in range(first, min(last, DAYS - 1) + 1):
        values[index] = max(0.0, values[index] * factor(index))


TUNING = World(
    "tuning",
    1,
    date(2024, 1, 1),
    {
        "steady week": _steady_week,
        "office": _office,
        "flat": _flat,
        "month end": _month_end,
        "training week": _training_week,
        "covered month end": _covered_month_end,
        "customers": _customers,
    },
    {"gaussian": _gaussian, "uniform": _uniform, "spiky": _spiky, "wandering": _wandering},
    _plant_plainly,
)


# What it is judged on: other shapes, heavier and dependent noise, anomalies with other outlines.


def _weekday_profile(rng: random.Random) -> Callable[[date, int], float]:
    """A level per weekday and a slow wave over the quarter."""
    profile = [rng.uniform(0.55, 1.3) for _ in range(7)]
    swell, phase = rng.uniform(0.0, 0.08), rng.uniform(0, 6.3)
    return lambda day, index: profile[day.weekday()] * (1 + swell * math.sin(index / 91 * 6.283 + phase))


def _weekly_batch(rng: random.Random) -> Callable[[date, int], float]:
    weekday, idle = rng.randrange(7), rng.uniform(0.0, 0.3)
    return lambda day, index: 1.0 if day.weekday() == weekday else idle


def _payday(rng: random.Random) -> Callable[[date, int], float]:
    """Work on the last two working days of a month, and on the fifteenth."""
    more, weekend = rng.uniform(0.8, 3.0), rng.uniform(0.6, 1.0)

    def value(day: date, index: int) -> float:
        days_ahead = [day + timedelta(days=n) for n in range(1, 6)]
        ahead = [each for each in days_ahead if each.month == day.month and each.weekday() < 5]
        extra = more if (day.weekday() < 5 and len(ahead) < 2) or day.day == 15 else 0.0
        return (weekend if day.weekday() > 4 else 1.0) + extra

    return value


def _compound(rng: random.Random) -> Callable[[date, int], float]:
    """A young product: it grows by a steady share each month, less at weekends."""
    growth, weekend = rng.uniform(0.01, 0.06), rng.uniform(0.7, 0.95)
    return lambda day, index: (1 + growth) ** (index / 30) * (weekend if day.weekday() > 4 else 1.0)


def _storage(rng: random.Random) -> Callable[[date, int], float]:
    growth = rng.uniform(0.05, 0.9) / 365
    return lambda day, index: 1 + growth * index


def _autoscaled(rng: random.Random) -> Callable[[date, int], float]:
    """Whole machines: a weekly wave in steps."""
    machines, swing = rng.randrange(4, 30), rng.uniform(0.1, 0.5)

    def value(day: date, index: int) -> float:
        return float(max(1, round(machines * (1 + swing * math.sin(day.weekday() / 7 * 6.283)))))

    return value


def _student(rng: random.Random) -> Callable[[], float]:
    """Heavy tails: Student's t with four degrees of freedom."""
    size = rng.uniform(0.01, 0.06)

    def value() -> float:
        chi = sum(rng.gauss(0, 1) ** 2 for _ in range(4))
        return 1 + size * rng.gauss(0, 1) / math.sqrt(chi / 4)

    return value


def _lognormal(rng: random.Random) -> Callable[[], float]:
    size = rng.uniform(0.02, 0.15)
    return lambda: math.exp(rng.gauss(0, size))


def _dependent(rng: random.Random) -> Callable[[], float]:
    """Autocorrelated noise: high days follow high days."""
    size, state = rng.uniform(0.01, 0.05), [0.0]

    def value() -> float:
        state[0] = 0.7 * state[0] + rng.gauss(0, size)
        return math.exp(state[0])

    return value


def _plant_unevenly(rng: random.Random, kind: str, values: list[float]) -> PlantedAnomaly:
    first = rng.randrange(QUIET_DAYS, DAYS - 42)
    level = sum(values[first - 28 : first]) / 28
    if kind == "spike":
        last, height = first + rng.choice([0, 1, 3]), rng.uniform(0.8, 6.0)
        _add(values, first, last, lambda index: level * height * 0.7 ** (index - first))
    elif kind == "step":
        last, more = DAYS - 1, rng.uniform(0.3, 3.0) * level
        _add(values, first, last, lambda index: more * (0.5 if index == first else 1.0))
    elif kind == "ramp":
        days = rng.randrange(25, 41)
        last, rate = first + days, rng.uniform(0.015, 0.04)
        _multiply(values, first, DAYS - 1, lambda index: (1 + rate) ** min(days, index - first))
    elif kind == "drop":
        last, share_left = first + rng.choice([0, 2, 5, 9]), rng.uniform(0.0, 0.55)
        _multiply(values, first, last, lambda index: share_left)
    else:
        last = DAYS - 1
        values[:first] = [0.0] * first
        _multiply(values, first, last, lambda index: min(1.0, (index - first + 1) / 5))
    return PlantedAnomaly(kind, first, last)


JUDGING = World(
    "judging",
    90_001,
    date(2025, 2, 1),
    {
        "weekday profile": _weekday_profile,
        "weekly batch": _weekly_batch,
        "payday": _payday,
        "compound": _compound,
        "storage": _storage,
        "autoscaled": _autoscaled,
    },
    {"student": _student, "lognormal": _lognormal, "dependent": _dependent},
    _plant_unevenly,
)
