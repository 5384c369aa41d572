"""Late bills: comparisons, forecasts and false anomalies of synthetic accounts whose last days are completed over
several days.

Each account has one late source and one that is not late. "any line" treats a day with any line as complete, as the
product did before; "documented" is the first import of a provider that documents three days; "learnt" is after
fifteen daily imports. All use the functions of the product; the reference is the final cost of each day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from statistics import fmean, median

from benchmarks.table import Row
from finops.budgets.projection import CostPart, complete_late_days, project_period, total_by_day
from finops.costs.comparison import comparison_ranges_by_source
from finops.costs.completeness import (
    DOCUMENTED,
    LEARNT,
    SourceDays,
    documented_settle_days,
    learnt_settle_days,
    partial_days,
)
from finops.costs.coverage import Coverage, coverage_of
from finops.insights.anomalies.detector import Series, detect
from finops.lib.periods import DateRange, month_end, month_start

ACCOUNTS = 200
HISTORY = 112
LATENESS = range(6)
WAYS = ("any line", "documented", "learnt")
SERVICES = ("Compute", "Storage", "Database")
DAY = timedelta(days=1)
LATE, PROMPT = 1, 2

Costs = Mapping[str, Mapping[date, float]]


@dataclass(frozen=True)
class World:
    """Final cost of an account by source and service, and how its late source is completed: the share of a day that
    is present at each age."""

    today: date
    costs: Mapping[int, Costs]
    shares: tuple[float, ...]

    @property
    def newest(self) -> date:
        return self.today - DAY

    def observed_costs(self, source: int, on: date) -> Costs:
        """Return the costs of a source after an import on a day."""
        return {
            service: {day: cost * self._share(source, on, day) for day, cost in days.items() if day < on}
            for service, days in self.costs[source].items()
        }

    def _share(self, source: int, on: date, day: date) -> float:
        age = (on - day).days
        return self.shares[age - 1] if source == LATE and age <= len(self.shares) else 1.0


def measure() -> list[Row]:
    rows: list[Row] = []
    for lateness in LATENESS:
        worlds = [_world(Random(1000 * lateness + seed), lateness) for seed in range(ACCOUNTS)]
        rows += [_row(lateness, way, [_outcome(world, way) for world in worlds]) for way in WAYS]
    return rows


def _world(random: Random, lateness: int) -> World:
    today = date(2026, 11, random.randint(9, 27))
    costs = {source: {name: _service(random, today) for name in SERVICES} for source in (LATE, PROMPT)}
    steps = sorted(random.uniform(0.05, 0.97) for _ in range(lateness))
    return World(today, costs, tuple(steps))


def _service(random: Random, today: date) -> dict[date, float]:
    base, weekend, noise = random.uniform(50, 5000), random.uniform(0.5, 1.0), random.uniform(0.01, 0.05)
    growth = random.uniform(-0.001, 0.002)
    days = [today - DAY * back for back in range(HISTORY, -40, -1)]
    return {
        day: base
        * (weekend if day.weekday() > 4 else 1.0)
        * (1 + growth * index)
        * max(0.5, random.gauss(1, noise))
        for index, day in enumerate(days)
    }


@dataclass(frozen=True)
class Outcome:
    """Results of one account: errors as shares of the reference, whether the range contains it, false anomalies,
    excluded days."""

    comparison: float
    forecast: float
    held: bool
    anomalies: int
    left_out: int


def _outcome(world: World, way: str) -> Outcome:
    coverage = _coverage(world, way)
    late = coverage.last_complete_days[LATE]
    forecast, is_within_band = _forecast(world, coverage)
    return Outcome(
        comparison=_comparison(world, coverage),
        forecast=forecast,
        held=is_within_band,
        anomalies=_false_anomalies(world, late),
        left_out=(world.newest - late).days,
    )


def _coverage(world: World, way: str) -> Coverage:
    first, last = world.today - DAY * HISTORY, world.newest
    segments = [(source, month_start(first), first, last, 1) for source in (LATE, PROMPT)]
    coverage = coverage_of(segments, today=world.today)
    if way == "any line":
        return coverage
    return replace(coverage, days_of={source: _days(world, source, way) for source in (LATE, PROMPT)})


def _days(world: World, source: int, way: str) -> SourceDays:
    provider = "AWS"
    documented, learnt = documented_settle_days(provider), None
    if way == LEARNT:
        learnt = learnt_settle_days(_growth(world, source))
    return SourceDays(
        usage_through=world.newest,
        billed_through=None,
        seen_on=world.today,
        settle_days=learnt if learnt is not None else documented,
        settle_from=DOCUMENTED if learnt is None else LEARNT,
        documented_days=documented,
        learnt_days=learnt,
        partial=partial_days(world.observed_costs(source, world.today), world.newest),
    )


def _growth(world: World, source: int) -> list[dict[int, float]]:
    """Return the cost of each day by age, as seen by fifteen daily imports."""
    days: dict[date, dict[int, float]] = {}
    for back in range(14, -1, -1):
        on = world.today - DAY * back
        for day in (on - DAY * age for age in range(1, 22)):
            amount = sum(costs.get(day, 0.0) for costs in world.observed_costs(source, on).values())
            days.setdefault(day, {})[(on - day).days] = amount
    return list(days.values())


def _total(costs: Costs, days: DateRange | None) -> float:
    if days is None:
        return 0.0
    return sum(cost for each in costs.values() for day, cost in each.items() if days.start <= day <= days.end)


def _comparison(world: World, coverage: Coverage) -> float:
    """Return the error of the change of the last seven days, in percentage points."""
    week = DateRange(world.today - DAY * 7, world.newest)
    comparison = comparison_ranges_by_source(
        compare_to="previous_period", days=week, period="last_7_days", coverage=coverage
    )
    own = {each.source_id: each for each in comparison.source_overrides}
    now = before = 0.0
    for source in (LATE, PROMPT):
        side = own.get(source)
        now += _total(world.observed_costs(source, world.today), side.current if side else comparison.current)
        before += _total(
            world.observed_costs(source, world.today), side.previous if side else comparison.previous
        )
    earlier = DateRange(week.start - DAY * 7, week.start - DAY)
    true_now, true_before = (
        sum(_total(world.costs[source], days) for source in (LATE, PROMPT)) for days in (week, earlier)
    )
    return abs((now / before - 1) - (true_now / true_before - 1))


def _forecast(world: World, coverage: Coverage) -> tuple[float, bool]:
    """Return the relative error of the month's forecast and whether its range contains the final amount."""
    month = DateRange(month_start(world.today), month_end(world.today))
    parts = [
        CostPart(coverage.last_complete_days[source], _by_day(world.observed_costs(source, world.today)))
        for source in (LATE, PROMPT)
    ]
    through, since = coverage.complete_through_for_most, coverage.complete_through
    assert through is not None
    assert since is not None
    covered = [through - DAY * back for back in range((through - (world.today - DAY * HISTORY)).days, -1, -1)]
    late = complete_late_days(parts, covered, through, since, month)
    projection, reason = project_period(
        total_by_day(parts), covered, month, as_of=world.today, through=through, late=late
    )
    assert projection is not None, reason
    truth = sum(_total(world.costs[source], month) for source in (LATE, PROMPT))
    band = projection.total
    return abs(float(band.mean) / truth - 1), float(band.lower) <= truth <= float(band.upper)


def _by_day(costs: Costs) -> dict[date, Decimal]:
    by_day: dict[date, float] = {}
    for days in costs.values():
        for day, cost in days.items():
            by_day[day] = by_day.get(day, 0.0) + cost
    return {day: Decimal(str(round(cost, 6))) for day, cost in sorted(by_day.items())}


def _false_anomalies(world: World, through: date) -> int:
    """Return anomalies of the last week in the late source's services that do not exist with complete days."""
    if (world.today - through).days > len(world.shares):
        return 0  # the days are whole
    costs_seen = world.observed_costs(LATE, world.today)
    return sum(
        len(_anomalies(costs_seen[service], through) - _anomalies(world.costs[LATE][service], through))
        for service in SERVICES
    )


def _anomalies(costs: Mapping[date, float], through: date) -> set[tuple[str, date]]:
    days = sorted(day for day in costs if day <= through)
    runs = detect(Series(days[0], [costs[day] for day in days])).detections
    recent = through - DAY * 6
    # As the product: a drop on the newest day alone waits for the next one.
    return {
        (each.kind, each.first)
        for each in runs
        if each.last >= recent and (each.is_up or not each.first == each.last == through)
    }


def _row(lateness: int, way: str, outcomes: Sequence[Outcome]) -> Row:
    return {
        "days until complete": lateness,
        "method": way,
        "comparison error, points": 100 * fmean(each.comparison for each in outcomes),
        "p95": 100 * _worst([each.comparison for each in outcomes]),
        "forecast error, %": 100 * fmean(each.forecast for each in outcomes),
        "p95 ": 100 * _worst([each.forecast for each in outcomes]),
        "within the range, %": 100 * fmean(each.held for each in outcomes),
        "false anomalies": sum(each.anomalies for each in outcomes),
        "days excluded": median(each.left_out for each in outcomes),
    }


def _worst(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]
