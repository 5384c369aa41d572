"""One detection over an account's cost, and the materiality of each anomaly: impact and severity."""

from __future__ import annotations

import calendar
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Context, Decimal
from typing import Final

from accounts.models import Account
from finops.costs.queries.sources import load_sources
from finops.exchange_rates.queries import RateReader
from finops.insights.anomalies.detector import (
    AcknowledgedDays,
    Detection,
    DetectorResult,
    Observation,
    Series,
    detect,
)
from finops.insights.anomalies.lake import DailyCost, Explainer, ScopeKey, daily_costs
from finops.insights.cost_scope import CostReader
from finops.insights.models import SERVICE, Anomaly, AnomalySettings, Incident
from finops.lake.engine.conversion import convert
from finops.lib import clock, time_limit
from finops.lib.answers import group_by
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange, add_months, each_day, month_start

OBSERVED_DAYS: Final = 90
LEARNING_MONTHS: Final = 13
DEADLINE: Final = 120.0
"""Time limit in seconds for all lake queries of one detection."""

CONTEXT_DAYS: Final = 42
"""Days before and after an anomaly on its chart."""

ACCOUNT_SHARE = Decimal("0.001")
"""Severity is a multiple of the account's minimum impact; by default of this share of its 30-day cost."""

SCOPE_SHARE = Decimal("0.01")
"""Default minimum impact: this share of the scope's 30-day cost, at most ACCOUNT_SHARE of the account's …"""

BOTH_SHARE = Decimal("0.0003")
"""… at least this share of the geometric mean of the two: 3 % of a service that is 0.01 % of the account. With a
share of the account alone, +200 % of most of its services would go undetected."""

LEAST = Decimal(1)
"""… and at least one unit of the currency."""

MEDIUM, HIGH = 3, 10

RECENT = 7

_MICRO = Decimal("0.000001")
_CONTEXT = Context(prec=50)


def default_minimum(account_month: Decimal, scope_month: Decimal) -> Decimal:
    """Return the default minimum impact of a scope (a service of a source, a team …) from the 30-day cost of the
    scope and of the account: max(1, min(1 % of the scope, 0.1 % of the account), 0.03 % of √(scope · account)). Our
    rule, measured (docs/adr/0012)."""
    whole, own = account_month.copy_abs(), scope_month.copy_abs()
    both = _CONTEXT.sqrt(_CONTEXT.multiply(whole, own))
    share = min(_CONTEXT.multiply(own, SCOPE_SHARE), _CONTEXT.multiply(whole, ACCOUNT_SHARE))
    return max(LEAST, share, _CONTEXT.multiply(both, BOTH_SHARE)).quantize(_MICRO)


def severity(impact: Decimal, scale: Decimal) -> str:
    """Return the severity: high from ten times `scale`, medium from three times, else low. If `scale` is 0, high. Our
    rule."""
    size = impact.copy_abs()
    if size >= scale * HIGH:
        return "high"
    return "medium" if size >= scale * MEDIUM else "low"


def exact(value: float) -> Decimal:
    """Return an expected cost of the detector as money with six decimal places."""
    return Decimal(repr(value)).quantize(_MICRO)


def month_end_impact(detection: Detection, impact: Decimal) -> Decimal:
    """Return the impact at the end of the last day's month: impact + mean excess of the last seven days · days left
    if the anomaly is ongoing, else the impact. Our rule."""
    if not detection.ongoing:
        return impact
    days = detection.days[-RECENT:]
    remaining_days = calendar.monthrange(detection.last.year, detection.last.month)[1] - detection.last.day
    daily = exact_sum(exact(day.excess) for day in days) / len(days)
    return exact_sum([impact, (daily * remaining_days).quantize(_MICRO)])


@dataclass(frozen=True)
class AnomalyCandidate:
    """A detected anomaly with its exact amounts, the minimum impact of its scope and the scale of its severity."""

    key: ScopeKey
    explainer: Explainer
    cost: DailyCost
    detection: Detection
    around: list[Observation]
    minimum: Decimal
    scale: Decimal

    @property
    def actual(self) -> Decimal:
        return exact_sum(self.cost.days.get(day.day, Decimal(0)) for day in self.detection.days)

    @property
    def expected_cost(self) -> Decimal:
        return exact_sum(exact(day.expected) for day in self.detection.days)

    @property
    def impact(self) -> Decimal:
        return exact_difference(self.actual, self.expected_cost)


@dataclass(frozen=True)
class _ExpectedRows:
    """Anomalies marked as expected, by source, dimension and value."""

    rows: Mapping[tuple[int, str, str], Sequence[Anomaly]]

    def of(self, key: ScopeKey, dimension: str, costs: Container[ScopeKey]) -> list[AcknowledgedDays]:
        """Return the expected anomalies in a scope's currency, and in currencies that no line of the scope has any
        more: the bill changed its currency, or the anomalies were stored in a display currency, as up to detector 5.
        """
        return [
            AcknowledgedDays(row.first_day, row.last_day, row.ongoing)
            for row in self.rows.get((key.source_id, dimension, key.value), ())
            if row.currency == key.currency or replace(key, currency=row.currency) not in costs
        ]


class DetectionRun:
    """One detection over an account's cost."""

    def __init__(self, account: Account) -> None:
        self.reader = CostReader(account, load_sources(account), time.monotonic() + DEADLINE)
        self.settings = AnomalySettings.objects.first() or AnomalySettings(account=account)
        self.series = 0
        self.months: dict[str, Decimal] = {}
        """Cost of the account's last 30 days, by currency."""
        self._minimums: dict[str, Decimal | None] = {}
        self._scopes: set[tuple[str, ScopeKey]] = set()
        """Scopes with cost lines, with their dimension."""
        coverage, health = self.reader.sources.coverage, self.reader.sources.health
        days = coverage.last_complete_days
        self.last_complete_days = {source: last for source, last in days.items() if source in health}
        """Last complete day by source; incomplete days are not evaluated."""
        through = max(self.last_complete_days.values(), default=clock.today())
        self.window = DateRange(through - timedelta(days=OBSERVED_DAYS - 1), through)
        self.start = add_months(month_start(self.window.start), -LEARNING_MONTHS)
        """First day of the history: the same day all month, so that all detections of a month use the same history.
        """
        self.days = DateRange(self.start, self.window.end)
        self.monitored = list(dict.fromkeys([SERVICE, *self.settings.watches]))

    @property
    def last_month(self) -> DateRange:
        """The 30 days that say how large the account is."""
        return DateRange(self.window.end - timedelta(days=29), self.window.end)

    def candidates(self) -> list[AnomalyCandidate]:
        """Return the anomalies of every monitored dimension, with root causes."""
        acknowledged = self._acknowledged_days()
        candidates: list[AnomalyCandidate] = []
        for name in self.monitored:
            explainer = Explainer(self.reader, name, self.monitored)
            costs = daily_costs(self.reader, explainer.scope, self.days)
            if name == SERVICE:
                self._set_months(costs)
            candidates += self._dimension_candidates(explainer, costs, acknowledged)
        return candidates

    def part_candidates(self, name: str, values: tuple[str, str | None]) -> list[AnomalyCandidate]:
        """What the values of a watched dimension have from the first up to but not the second (None: to the end), without causes.
        `months` must be known."""
        explainer = Explainer(self.reader, name, self.monitored)
        costs = daily_costs(self.reader, explainer.scope, self.days, values=values)
        return self._dimension_candidates(explainer, costs, self._acknowledged_days())

    def _dimension_candidates(
        self, explainer: Explainer, costs: dict[ScopeKey, DailyCost], acknowledged: _ExpectedRows
    ) -> list[AnomalyCandidate]:
        candidates: list[AnomalyCandidate] = []
        self._scopes |= {(explainer.name, key) for key in costs}
        for key, cost in sorted(costs.items(), key=lambda pair: repr(pair[0])):
            time_limit.check()
            days = acknowledged.of(key, explainer.name, costs)
            candidates += self._scope_candidates(explainer, key, cost, days)
        return candidates

    def _acknowledged_days(self) -> _ExpectedRows:
        rows = Anomaly.objects.filter(incident__state=Incident.State.EXPECTED, last_day__gte=self.start)
        return _ExpectedRows(
            group_by(rows.order_by("pk"), lambda row: (row.source_id, row.dimension, row.value))
        )

    def _set_months(self, costs: dict[ScopeKey, DailyCost]) -> None:
        for currency in {key.currency for key in costs}:
            amounts = [self._since(cost, 30) for key, cost in costs.items() if key.currency == currency]
            self.months[currency] = abs(exact_sum(amounts))

    def _scope_candidates(
        self, explainer: Explainer, key: ScopeKey, cost: DailyCost, acknowledged: Sequence[AcknowledgedDays]
    ) -> list[AnomalyCandidate]:
        month, own_minimum = self.months.get(key.currency, Decimal(0)), self._own_minimum(key.currency)
        minimum = default_minimum(month, self._month(cost)) if own_minimum is None else own_minimum
        scale = month * ACCOUNT_SHARE if own_minimum is None else own_minimum
        through = self.last_complete_days.get(key.source_id)
        if through is None or exact_sum(abs(amount) for amount in cost.days.values()) < minimum:
            return []
        self.series += 1
        result = detect(self._series(key.source_id, cost, through, acknowledged))
        return [
            AnomalyCandidate(key, explainer, cost, each, _surrounding_days(result, each), minimum, scale)
            for each in result.detections
            if each.last >= self.window.start and not _is_too_new(each, through)
        ]

    def _own_minimum(self, currency: str) -> Decimal | None:
        """Return the account's minimum impact in a currency; else its minimum in a currency without bills, such as
        the display currency, converted at the rate of the last day."""
        if currency not in self._minimums:
            self._minimums[currency] = self.settings.minimum(currency)
            currencies = [name for name in sorted(self.settings.minimum_impacts) if name not in self.months]
            if self._minimums[currency] is None and currencies:
                self._minimums[currency] = self._converted_minimum(currencies, currency)
        return self._minimums[currency]

    def _converted_minimum(self, currencies: Sequence[str], currency: str) -> Decimal | None:
        """Return the converted minimum impact; None without a rate. Two queries."""
        rates = RateReader(self.reader.account, currency).rates(self.window.end, self.window.end)
        by_currency = {each.currency: each.rate for each in rates}
        for name in currencies:
            amount = self.settings.minimum(name)
            if amount is not None and name in by_currency:
                return convert(amount, by_currency[name])
        return None

    def _month(self, cost: DailyCost) -> Decimal:
        """Return the 30-day cost of a scope: of the last 30 days, or a third of all evaluated days if that is more,
        since the scope may just have ended."""
        last, every = abs(self._since(cost, 30)), abs(self._since(cost, OBSERVED_DAYS))
        return max(last, every * 30 / OBSERVED_DAYS)

    def _since(self, cost: DailyCost, days: int) -> Decimal:
        """Return the cost of the last `days` days."""
        return cost.between(self.window.end - timedelta(days=days - 1), date.max)

    def _series(
        self, source_id: int, cost: DailyCost, through: date, acknowledged: Sequence[AcknowledgedDays]
    ) -> Series:
        """Return the daily series from the first day that a bill of the source covers. A covered day without a line
        cost 0."""
        days = each_day(DateRange(self.start, through))
        ranges = self._ranges(source_id)
        while days and not _is_in(ranges, days[0]):
            days.pop(0)
        values = [
            float(cost.days[day]) if day in cost.days else 0.0 if _is_in(ranges, day) else None
            for day in days
        ]
        return Series(days[0] if days else self.start, values, tuple(acknowledged))

    def _ranges(self, source_id: int) -> list[DateRange]:
        coverage = self.reader.sources.coverage
        pairs = zip(coverage.spans, coverage.covered, strict=True)
        return [covered for span, covered in pairs if span.source_id == source_id]

    def covers(self, source_id: int, first: date, last: date) -> bool:
        """Return whether the source has data on all these days. Without data, missing cost is not a drop."""
        ranges, through = self._ranges(source_id), self.last_complete_days.get(source_id)
        if through is None or last > through:
            return False
        return all(_is_in(ranges, day) for day in each_day(DateRange(first, last)))

    def has_cost(self, row: Anomaly) -> bool:
        """Return whether any line of the scope is in its currency. Call after `candidates`."""
        return (row.dimension, ScopeKey(row.source_id, row.value, row.currency)) in self._scopes


def _is_in(ranges: Sequence[DateRange], day: date) -> bool:
    return any(each.start <= day <= each.end for each in ranges)


def _is_too_new(detection: Detection, through: date) -> bool:
    """Return whether this is a drop on a source's newest day. Bills deliver that day in parts, so the next day
    decides."""
    return not detection.is_up and detection.first == detection.last == through


def _surrounding_days(result: DetectorResult, detection: Detection) -> list[Observation]:
    inside = {day.day: day for day in detection.days}
    first = detection.first - timedelta(days=CONTEXT_DAYS)
    last = detection.last + timedelta(days=CONTEXT_DAYS // 3)
    return [inside.get(day.day, day) for day in result.between(first, last)]
