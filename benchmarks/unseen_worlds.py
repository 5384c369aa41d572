"""Made-up accounts of 120 services with 100 planted anomalies: what is found at the default smallest impact.

`anomaly_worlds` has one series a case; these are whole accounts, whose services' sizes are log-normal over four to five
decades, as the default is relative to both. DEVELOPMENT (seeds 1 to 5) is what constants were chosen on. HELD_OUT (seeds 70,001 to
70,005) has further shapes, other noise and other outlines of anomalies; it was written before the tuning, and is run at its end.
"""

from __future__ import annotations

import calendar
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

DAYS, WATCHED = 480, 90
"""Days of history, and how many of the last of them anomalies are planted in."""

SERVICES = 120
KINDS = ("spike", "step", "drop", "ramp", "several days")
EACH = 20

Shape = Callable[[random.Random], Callable[[date, int], float]]
Noise = Callable[[random.Random, float], Callable[[], float]]


@dataclass(frozen=True)
class PlantedAnomaly:
    kind: str
    first: int
    last: int

    @property
    def up(self) -> bool:
        return self.kind != "drop"


@dataclass(frozen=True)
class Service:
    """`planted` is None if the service has no anomaly."""

    name: str
    values: Sequence[float]
    planted: PlantedAnomaly | None


@dataclass(frozen=True)
class AccountCase:
    start: date
    services: Sequence[Service]


@dataclass(frozen=True)
class World:
    seeds: range
    start: date
    decades: float
    shapes: dict[str, tuple[int, Shape]]
    noise: Noise
    plant: Callable[[random.Random, str, list[float]], PlantedAnomaly]


def accounts(world: World) -> list[AccountCase]:
    return [_account(world, random.Random(seed)) for seed in world.seeds]


def _account(world: World, rng: random.Random) -> AccountCase:
    start = world.start + timedelta(days=rng.randrange(0, 90))
    kinds = [kind for kind in KINDS for _ in range(EACH)]
    kinds += [""] * (SERVICES - len(kinds))
    rng.shuffle(kinds)
    names, weights = list(world.shapes), [weight for weight, _shape in world.shapes.values()]
    services = []
    for number, kind in enumerate(kinds):
        # Two standard deviations either way are the decades; an account of a million a month or so.
        place = max(-2.2, min(2.2, rng.gauss(0, 1)))
        size = 20 * 10 ** (place * world.decades / 4)
        name = rng.choices(names, weights)[0]
        services.append(_service(world, rng, start, f"{name} {number}", world.shapes[name][1], size, kind))
    return AccountCase(start, services)


def _service(
    world: World, rng: random.Random, start: date, name: str, shape: Shape, size: float, kind: str
) -> Service:
    while True:
        pattern, noise = shape(rng), world.noise(rng, size)
        values = [
            max(0.0, size * pattern(start + timedelta(days=index), index) * noise()) for index in range(DAYS)
        ]
        if not kind:
            return Service(name, values, None)
        before = list(values)
        planted = world.plant(rng, kind, values)
        planted_amount = abs(sum(values) - sum(before))
        if planted_amount >= 0.5 * sum(before[-90:]) / 90:
            return Service(name, values, planted)


# Shapes. The mean is about 1.


def _weekday(rng: random.Random) -> Callable[[date, int], float]:
    weekend, growth = rng.uniform(0.3, 1.0), rng.uniform(-0.2, 0.6) / 365
    return lambda day, index: (weekend if day.weekday() > 4 else 1.0) * (1 + growth * index)


def _flat(rng: random.Random) -> Callable[[date, int], float]:
    growth = rng.uniform(-0.1, 0.4) / 365
    return lambda day, index: 1 + growth * index


def _compound(rng: random.Random) -> Callable[[date, int], float]:
    growth, weekend = rng.uniform(0.01, 0.07), rng.uniform(0.7, 1.0)
    return lambda day, index: (1 + growth) ** ((index - DAYS) / 30) * (weekend if day.weekday() > 4 else 1.0)


def _month_start(rng: random.Random) -> Callable[[date, int], float]:
    fee, days = rng.uniform(2, 12), rng.choice([1, 1, 2, 3])
    return lambda day, index: 1 + (fee / days if day.day <= days else 0.0)


def _month_end(rng: random.Random) -> Callable[[date, int], float]:
    more, days = rng.uniform(0.5, 4), rng.choice([1, 2, 3])

    def value(day: date, index: int) -> float:
        return 1 + (more if calendar.monthrange(day.year, day.month)[1] - day.day < days else 0.0)

    return value


def _quarterly(rng: random.Random) -> Callable[[date, int], float]:
    """A fee on a day of the first, second or third month of each quarter."""
    month, on, fee, idle = rng.randrange(3), rng.randrange(1, 29), rng.uniform(4, 30), rng.choice([0.2, 1.0])
    return lambda day, index: idle + (fee if (day.month - 1) % 3 == month and day.day == on else 0.0)


def _weekly_batch(rng: random.Random) -> Callable[[date, int], float]:
    weekday, idle, size = rng.randrange(7), rng.uniform(0.0, 0.4), rng.uniform(2, 6)
    return lambda day, index: size if day.weekday() == weekday else idle


def _bursts(rng: random.Random) -> Callable[[date, int], float]:
    """Jobs started by people: every ten to twenty days, of similar size."""
    gap, size, days = rng.uniform(9, 20), rng.uniform(1, 5), rng.choice([1, 1, 2])
    at, busy = 0.0, set()
    while at < DAYS:
        at += max(3.0, rng.expovariate(1 / gap))
        busy |= {int(at) + each for each in range(days)}
    return lambda day, index: 1 + (size * rng.uniform(0.8, 1.2) if index in busy else 0.0)


def _gaussian(rng: random.Random, size: float) -> Callable[[], float]:
    """Gaussian noise, larger for small services."""
    spread = min(0.22, rng.uniform(0.01, 0.07) * (100 / size) ** 0.12)
    return lambda: 1 + rng.gauss(0, spread)


def _begin(rng: random.Random, room: int) -> int:
    return rng.randrange(DAYS - WATCHED, DAYS - room)


def _level(values: Sequence[float], first: int) -> tuple[float, float]:
    """The mean of the four weeks before, and the largest day of the eight weeks before."""
    return sum(values[first - 28 : first]) / 28, max(values[first - 56 : first])


def _plant_plainly(rng: random.Random, kind: str, values: list[float]) -> PlantedAnomaly:
    first = _begin(rng, 35)
    level, top = _level(values, first)
    if kind == "spike":
        last = first
        values[first] += level * rng.uniform(1.0, 4.0) + (top - level) * 0.7
    elif kind == "step":
        last, more = DAYS - 1, rng.uniform(0.4, 1.5)
        _multiply(values, first, last, lambda index: 1 + more)
    elif kind == "drop":
        last, share_left = first + rng.randrange(6, 12), rng.uniform(0.0, 0.5)
        _multiply(values, first, last, lambda index: share_left)
    elif kind == "ramp":
        last, more = first + 30, rng.uniform(0.7, 2.0)
        _multiply(values, first, DAYS - 1, lambda index: 1 + more * min(1.0, (index - first) / 30))
    else:
        last, more = first + rng.randrange(2, 7), rng.uniform(0.6, 2.5)
        for index in range(first, last + 1):
            values[index] += level * more
    return PlantedAnomaly(kind, first, min(last, DAYS - 1))


def _multiply(values: list[float], first: int, last: int, factor: Callable[[int], float]) -> None:
    for index in range(first, min(last, DAYS - 1) + 1):
        values[index] *= factor(index)


DEVELOPMENT = World(
    range(1, 6),
    date(2024, 1, 1),
    4.2,
    {
        "weekday": (4, _weekday),
        "flat": (3, _flat),
        "compound": (2, _compound),
        "month start": (1, _month_start),
        "month end": (1, _month_end),
        "quarterly": (1, _quarterly),
        "weekly batch": (1, _weekly_batch),
        "bursts": (2, _bursts),
    },
    _gaussian,
    _plant_plainly,
)


# What it is judged on.


def _profile(rng: random.Random) -> Callable[[date, int], float]:
    heights = [rng.uniform(0.5, 1.4) for _ in range(7)]
    swell, phase = rng.uniform(0, 0.15), rng.uniform(0, 6.3)
    return lambda day, index: heights[day.weekday()] * (1 + swell * math.sin(index / 182 * 6.283 + phase))


def _support(rng: random.Random) -> Callable[[date, int], float]:
    """A quarterly plan on the first of a quarter, use by weekday, a monthly run on the third working day."""
    plan, run, weekend = rng.uniform(5, 25), rng.uniform(0, 2), rng.uniform(0.4, 1.0)

    def value(day: date, index: int) -> float:
        work = day.weekday() < 5 and sum(
            day.replace(day=each).weekday() < 5 for each in range(1, day.day + 1)
        )
        quarter = day.day == 1 and day.month % 3 == 1
        return (weekend if day.weekday() > 4 else 1.0) + (plan if quarter else 0) + (run if work == 3 else 0)

    return value


def _quarter_end(rng: random.Random) -> Callable[[date, int], float]:
    """A quarter-end closing: the last days of a quarter."""
    more, days = rng.uniform(1, 5), rng.choice([2, 3, 4])

    def value(day: date, index: int) -> float:
        days_left = calendar.monthrange(day.year, day.month)[1] - day.day
        return 1 + (more if day.month % 3 == 0 and days_left < days else 0.0)

    return value


def _two_batches(rng: random.Random) -> Callable[[date, int], float]:
    """Large jobs on two weekdays, of different size."""
    first, second = rng.sample(range(7), 2)
    sizes, idle = {first: rng.uniform(2, 5), second: rng.uniform(0.8, 2)}, rng.uniform(0.02, 0.3)
    return lambda day, index: idle + sizes.get(day.weekday(), 0.0)


def _trainings(rng: random.Random) -> Callable[[date, int], float]:
    """Jobs of one to three days every two weeks or so, of similar size."""
    gap, size = rng.uniform(8, 18), rng.uniform(1.5, 7)
    at, busy = 0.0, set()
    while at < DAYS:
        at += rng.uniform(0.5, 1.5) * gap
        busy |= {int(at) + each for each in range(rng.choice([1, 2, 2, 3]))}
    return lambda day, index: 1 + (size * math.exp(rng.gauss(0, 0.12)) if index in busy else 0.0)


def _machines(rng: random.Random) -> Callable[[date, int], float]:
    count, swing = rng.randrange(3, 20), rng.uniform(0.1, 0.5)
    return lambda day, index: max(1, round(count * (1 + swing * math.sin(day.weekday() / 7 * 6.283)))) / count


def _won_customers(rng: random.Random) -> Callable[[date, int], float]:
    wins = [rng.randrange(DAYS) for _ in range(rng.randrange(5, 25))]
    size, weekend = rng.uniform(0.01, 0.05), rng.uniform(0.5, 1.0)
    return lambda day, index: (
        (1 + size * sum(win <= index for win in wins)) * (weekend if day.weekday() > 4 else 1.0)
    )


def _mixed_noise(rng: random.Random, size: float) -> Callable[[], float]:
    """Heavy tails or good and bad weeks, wider for small services."""
    spread = min(0.18, rng.uniform(0.01, 0.05) * (100 / size) ** 0.12)
    if rng.random() < 0.5:
        return lambda: (
            1 + spread * rng.gauss(0, 1) / math.sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(5)) / 5)
        )
    state = [0.0]

    def value() -> float:
        state[0] = 0.6 * state[0] + rng.gauss(0, spread * 0.8)
        return math.exp(state[0])

    return value


def _plant_unevenly(rng: random.Random, kind: str, values: list[float]) -> PlantedAnomaly:
    first = _begin(rng, 42)
    level, top = _level(values, first)
    if kind == "spike":
        last = first
        values[first] = max(values[first], 0.8 * top) + level * math.exp(
            rng.uniform(math.log(0.9), math.log(6))
        )
    elif kind == "step":
        last, more = DAYS - 1, rng.uniform(0.35, 2.0) * level
        for index in range(first, DAYS):
            values[index] += more * (0.5 if index == first else 1.0)
    elif kind == "drop":
        last, share_left = first + rng.randrange(6, 15), rng.uniform(0.0, 0.45)
        _multiply(values, first, last, lambda index: share_left)
    elif kind == "ramp":
        days = rng.randrange(25, 41)
        last, rate = first + days, rng.uniform(0.018, 0.04)
        _multiply(values, first, DAYS - 1, lambda index: (1 + rate) ** min(days, index - first))
    else:
        last, more = first + rng.randrange(2, 9), rng.uniform(0.7, 3.0)
        _multiply(values, first, last, lambda index: 1 + more)
        if max(values[first : last + 1]) < 1.2 * top:
            for index in range(first, last + 1):
                values[index] += more * level * 0.5
    return PlantedAnomaly(kind, first, min(last, DAYS - 1))


HELD_OUT = World(
    range(70_001, 70_006),
    date(2024, 7, 1),
    4.6,
    {
        "profile": (4, _profile),
        "machines": (2, _machines),
        "won customers": (2, _won_customers),
        "compound": (1, _compound),
        "support plan": (1, _support),
        "quarter end": (1, _quarter_end),
        "two batches": (1, _two_batches),
        "month end": (1, _month_end),
        "trainings": (2, _trainings),
    },
    _mixed_noise,
    _plant_unevenly,
)

WORLDS = {"development": DEVELOPMENT, "held out": HELD_OUT}
