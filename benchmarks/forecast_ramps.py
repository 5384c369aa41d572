"""Synthetic daily cost that grows or shrinks: sets for tuning forecasts and for judging them.

The sets share no shape, no noise and no seed. "held out" was used for one rule (ADR 0026); "held out, second" was
created after that rule and run once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import date, timedelta

FIRST, DAYS = date(2024, 3, 1), 520
"""A history of a year before origins in the last five months."""

Shape = Callable[[random.Random], Callable[[date, int], float]]


def ramps(name: str, count: int = 24) -> dict[str, dict[date, float]]:
    """Return `count` series of a set, with each shape in turn; sizes are similar, so that all have the same weight."""
    seed, shapes, noise = SETS[name]
    series = {}
    for number in range(count):
        rng = random.Random(seed + number)
        shape = sorted(shapes)[number % len(shapes)]
        ramp, spread = shapes[shape](rng), rng.uniform(*noise)
        days = [FIRST + timedelta(days=index) for index in range(DAYS)]
        values = [ramp(day, index) * math.exp(rng.gauss(0, spread)) for index, day in enumerate(days)]
        mean = sum(values) / DAYS
        series[f"{name} {shape} {number}"] = {
            day: value / mean for day, value in zip(days, values, strict=True)
        }
    return series


def _week(rng: random.Random) -> Callable[[date], float]:
    weekend = rng.uniform(0.4, 1.0)
    return lambda day: weekend if day.weekday() > 4 else 1.0


def _steady(rng: random.Random) -> Callable[[date, int], float]:
    """Constant relative growth per month."""
    growth, week = rng.uniform(0.03, 0.15), _week(rng)
    return lambda day, index: (1 + growth) ** (index / 30) * week(day)


def _start(rng: random.Random) -> Callable[[date, int], float]:
    """Linear growth that starts in the last half year."""
    begin, rate, week = rng.randrange(DAYS - 240, DAYS - 90), rng.uniform(0.005, 0.02), _week(rng)
    return lambda day, index: (1 + rate * max(0, index - begin)) * week(day)


def _end(rng: random.Random) -> Callable[[date, int], float]:
    """A completed migration: growth that has ended."""
    begin, rate, week = rng.randrange(DAYS - 300, DAYS - 180), rng.uniform(0.008, 0.02), _week(rng)
    end = begin + rng.randrange(40, 100)
    return lambda day, index: (1 + rate * max(0, min(end, index) - begin)) * week(day)


def _level(rng: random.Random) -> Callable[[date, int], float]:
    week = _week(rng)
    return lambda day, index: week(day)


def _curve(rng: random.Random) -> Callable[[date, int], float]:
    """A launch: slow, fast, then slow growth."""
    middle, width, more = rng.uniform(DAYS - 200, DAYS), rng.uniform(20, 60), rng.uniform(1, 5)
    profile = [rng.uniform(0.6, 1.2) for _ in range(7)]
    return lambda day, index: (1 + more / (1 + math.exp((middle - index) / width))) * profile[day.weekday()]


def _away(rng: random.Random) -> Callable[[date, int], float]:
    """A service that is migrated away in weekly steps."""
    begin, rate = rng.randrange(DAYS - 260, DAYS - 120), rng.uniform(0.02, 0.08)
    profile = [rng.uniform(0.8, 1.2) for _ in range(7)]
    return lambda day, index: (1 - rate) ** (max(0, index - begin) // 7) * profile[day.weekday()]


def _customers(rng: random.Random) -> Callable[[date, int], float]:
    """A step up for each new customer, with recent acceleration."""
    wins = [DAYS * rng.random() ** 0.6 for _ in range(rng.randrange(15, 50))]
    size, weekend = rng.uniform(0.02, 0.08), rng.uniform(0.5, 1.0)
    return lambda day, index: (
        (1 + size * sum(win <= index for win in wins)) * (weekend if day.weekday() > 4 else 1.0)
    )


def _storage(rng: random.Random) -> Callable[[date, int], float]:
    growth = rng.uniform(0.001, 0.006)
    return lambda day, index: 1 + growth * index


def _wandering(rng: random.Random) -> Callable[[date, int], float]:
    """A random walk without a persistent trend."""
    place, week = [0.0], _week(rng)

    def value(day: date, index: int) -> float:
        place[0] += rng.gauss(0, 0.012)
        return math.exp(place[0]) * week(day)

    return value


def _step_ramp(rng: random.Random) -> Callable[[date, int], float]:
    """A contract that is extended about every quarter."""
    every, size, begin, week = rng.randrange(60, 120), rng.uniform(0.08, 0.35), rng.randrange(120), _week(rng)
    return lambda day, index: (1 + size) ** (max(0, index - begin) // every) * week(day)


def _shifted_level(rng: random.Random) -> Callable[[date, int], float]:
    """A part moves elsewhere within weeks, and the rest remains."""
    begin, days, share_left = (
        rng.randrange(DAYS - 240, DAYS - 60),
        rng.randrange(20, 90),
        rng.uniform(0.2, 0.7),
    )
    week = _week(rng)
    return lambda day, index: (1 - (1 - share_left) * min(1.0, max(0, index - begin) / days)) * week(day)


def _working_days(rng: random.Random) -> Callable[[date, int], float]:
    """Only working days grow, with acceleration."""
    rate, begin = rng.uniform(0.5, 3), rng.randrange(100, DAYS - 150)
    weekend = rng.uniform(0.2, 0.6)
    return lambda day, index: (
        weekend if day.weekday() > 4 else 1 + rate * (max(0, index - begin) / (DAYS - begin)) ** 2
    )


def _new(rng: random.Random) -> Callable[[date, int], float]:
    """Zero for most of a year, then a service whose growth slows down."""
    begin, pace, week = rng.randrange(DAYS - 260, DAYS - 150), rng.uniform(25, 90), _week(rng)
    return lambda day, index: (1 - math.exp(-max(0, index - begin) / pace)) * week(day)


def _year(rng: random.Random) -> Callable[[date, int], float]:
    """A yearly season on slow growth: increases over months reverse."""
    swing, phase = rng.uniform(0.1, 0.4), rng.uniform(0, 2 * math.pi)
    growth, week = rng.uniform(0, 0.3), _week(rng)
    return lambda day, index: (
        (1 + growth * index / 365 + swing * math.sin(2 * math.pi * index / 365 + phase)) * week(day)
    )


SETS: dict[str, tuple[int, dict[str, Shape], tuple[float, float]]] = {
    "development": (
        1,
        {"steady": _steady, "begun": _start, "ended": _end, "level": _level},
        (0.01, 0.08),
    ),
    "held out": (
        80_001,
        {
            "curve": _curve,
            "away": _away,
            "customers": _customers,
            "storage": _storage,
            "wandering": _wandering,
        },
        (0.015, 0.1),
    ),
    "held out, second": (
        260_001,
        {
            "stairs": _step_ramp,
            "moved": _shifted_level,
            "working days": _working_days,
            "new": _new,
            "year": _year,
        },
        (0.02, 0.12),
    ),
}
