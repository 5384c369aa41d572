"""Compute the amounts of a forecast answer from the days of a series. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property

from finops.budgets.forecast_answers import BackTest, ForecastRow, ForecastTotal
from finops.budgets.projection import CompletedCosts, Projection, complete_days
from finops.budgets.queries.actual_costs import sum_of_days
from finops.costs.answers import Change, Series
from finops.costs.coverage import Coverage, buckets_of
from finops.costs.queries.spend_answer import change_between, not_comparable
from finops.lib.forecasting import Band
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange

OTHER = "other"
_SHARE = Decimal("0.0001")


@dataclass(frozen=True)
class Span:
    """The requested period, the period before, and the days that have data."""

    period: DateRange
    previous: DateRange
    today: date
    coverage: Coverage

    @property
    def so_far(self) -> DateRange:
        return DateRange(self.period.start, min(self.period.end, self.today))

    @cached_property
    def covered_days(self) -> list[date]:
        """Return the complete days of the last year, in order; the cost of late sources is estimated up to them."""
        return complete_days(self.coverage, self.today)


@dataclass(frozen=True)
class Outlook:
    """One series in one currency: its cost by day, and its projection or the reason for none. `key` is None for the
    total and for the sum of groups that are not listed."""

    key: str | None
    label: str
    currency: str
    costs: Mapping[date, Decimal]
    projection: Projection | None
    reason: str
    other_groups: int = 0
    late: CompletedCosts | None = None
    incomplete: Decimal = Decimal(0)
    """The part of the cost so far that is on incomplete days."""

    @property
    def costs_with_late(self) -> Mapping[date, Decimal]:
        """The cost by day with the expected cost of late sources."""
        return self.late.costs if self.late else self.costs


def total_of(outlook: Outlook, span: Span, granularity: str) -> ForecastTotal:
    expected, lower, upper = _series(outlook, span, granularity)
    actual, total = _amounts(outlook, span)
    return ForecastTotal(
        currency=outlook.currency,
        actual=actual,
        remaining=exact_difference(total.mean, actual) if total else None,
        expected=total.mean if total else None,
        lower=total.lower if total else None,
        upper=total.upper if total else None,
        reason=outlook.reason,
        change=_change(outlook, span, total),
        back_test=_back_test(outlook),
        series=expected,
        lower_series=lower,
        upper_series=upper,
    )


def row_of(outlook: Outlook, span: Span, dimension: str) -> ForecastRow:
    actual, total = _amounts(outlook, span)
    key = OTHER if outlook.other_groups else outlook.key or ""
    named = outlook.label and outlook.label != key and not outlook.other_groups
    return ForecastRow(
        group={dimension: key},
        currency=outlook.currency,
        actual=actual,
        remaining=exact_difference(total.mean, actual) if total else None,
        expected=total.mean if total else None,
        lower=total.lower if total else None,
        upper=total.upper if total else None,
        reason=outlook.reason,
        labels={dimension: outlook.label} if named else {},
        other_groups=outlook.other_groups,
        change=_change(outlook, span, total),
        back_test=_back_test(outlook),
    )


def _amounts(outlook: Outlook, span: Span) -> tuple[Decimal, Band | None]:
    """Return the cost so far, and the expected cost of the whole period."""
    return sum_of_days(outlook.costs, span.so_far), outlook.projection.total if outlook.projection else None


def _change(outlook: Outlook, span: Span, total: Band | None) -> Change | None:
    if total is None:
        return None
    reason = not_comparable(span.coverage, span.previous)
    previous = sum_of_days(outlook.costs, span.previous)
    if not reason:
        return change_between(total.mean, previous, outlook.currency)
    return Change(
        current_amount=total.mean,
        previous_amount=None,
        change=None,
        ratio=None,
        currency=outlook.currency,
        reason=reason,
    )


def _back_test(outlook: Outlook) -> BackTest | None:
    accuracy = outlook.projection.forecast.accuracy if outlook.projection else None
    if accuracy is None:
        return None
    return BackTest(
        days=accuracy.days,
        trials=accuracy.trials,
        error_share=_share(accuracy.error),
        naive_error_share=_share(accuracy.naive_error),
    )


def _share(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value)).quantize(_SHARE)


def _series(outlook: Outlook, span: Span, granularity: str) -> tuple[Series, Series, Series]:
    """Return the period by bucket: the actual cost, or the expected cost if any days are forecast, and its band."""
    expected: Series = {}
    lower: Series = {}
    upper: Series = {}
    for bucket in buckets_of(granularity, span.period, span.coverage):
        days = DateRange(max(bucket.start, span.period.start), min(bucket.end, span.period.end))
        band, name = band_of(outlook, days), bucket.start.isoformat()
        if band:
            expected[name], lower[name], upper[name] = band.mean, band.lower, band.upper
            continue
        spent = sum_of_days(outlook.costs_with_late, DateRange(days.start, min(days.end, span.today)))
        expected[name] = spent if spent or bucket.has_data else None
    return expected, lower, upper


def band_of(outlook: Outlook, days: DateRange) -> Band | None:
    """Return the expected cost of these days, including known days; None where no day is forecast."""
    projection = outlook.projection
    if projection is None or days.end < projection.days.start:
        return None
    ahead = DateRange(max(days.start, projection.days.start), days.end)
    known_costs = {
        day: cost for day, cost in outlook.costs_with_late.items() if days.start <= day < ahead.start
    }
    slack = projection.slack if days.start < projection.days.start else Decimal(0)
    extra = (more for day, more in projection.extra.items() if ahead.start <= day <= ahead.end)
    shift = exact_sum([*known_costs.values(), *extra])
    band = projection.forecast.total(ahead)
    return Band(
        exact_sum([shift, band.mean]),
        exact_difference(exact_sum([shift, band.lower]), slack),
        exact_sum([shift, band.upper, slack]),
    )
