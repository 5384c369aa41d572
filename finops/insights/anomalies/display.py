"""Anomalies in the display currency.

A detection stores an anomaly in the currency of the bill. For a reader with another display currency each day is
converted at its own rate and rounded once (ADR 0046), so that days add up to the anomaly, and anomalies to their
total. The rest of the month, which has no days yet, is converted at the rate of the last day. Root causes are stored
as sums over all days, so they are converted at the mean rate of the impact and add up to it. An anomaly with a day
without a rate is shown as stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

from django.db.models import Max, Min, QuerySet
from msgspec.structs import replace

from finops.exchange_rates.missing_rates import missing_rate_warnings
from finops.insights.anomalies.causes import Causes
from finops.insights.anomalies.schemas import OwnImpact
from finops.insights.models import Anomaly, Incident
from finops.lake.engine.conversion import Conversion, OneCurrency, convert, current_currencies
from finops.lib.answers import group_by
from finops.lib.money import MONEY_SCALE, exact_difference, exact_sum, ratio

Cells = tuple[Decimal, Decimal, Decimal, Decimal]
"""Actual, expected, low and high of a day."""

ZERO: Final = Decimal(0)
_UNIT: Final = Decimal(1).scaleb(-MONEY_SCALE)
_CONTEXT: Final = Context(prec=80, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class IncidentAmounts:
    """Amounts of an incident or an anomaly in one currency. `shared_impact`: share of the impact that other incidents
    count. `own`: the stored amounts of a converted anomaly."""

    currency: str
    actual: Decimal
    expected: Decimal
    expected_low: Decimal
    expected_high: Decimal
    impact: Decimal
    month_end_impact: Decimal
    shared_impact: Decimal = ZERO
    own: IncidentAmounts | None = None

    @property
    def own_impact(self) -> Decimal:
        """Impact without the part that other incidents count. These impacts add up."""
        size = self.impact.copy_abs() - self.shared_impact
        return size if self.impact > 0 else -size

    @property
    def rate(self) -> Decimal | None:
        """Mean rate of the converted impact; None if it is not converted."""
        return ratio(self.impact, self.own.impact) if self.own else None

    @property
    def own_amounts(self) -> OwnImpact | None:
        """Stored amounts, in the format of answers."""
        if self.own is None:
            return None
        names = ("currency", "actual", "expected", "impact", "month_end_impact")
        return OwnImpact(**{name: getattr(self.own, name) for name in names})


def figures_of_incident(incident: Incident) -> IncidentAmounts:
    """Return the stored amounts of an incident."""
    names = [each.name for each in dataclasses.fields(IncidentAmounts) if each.name != "own"]
    return IncidentAmounts(**{name: getattr(incident, name) for name in names})


def figures_of_anomaly(anomaly: Anomaly) -> IncidentAmounts:
    """Return the stored amounts of an anomaly; its range is the sum over its days."""
    inside = [cells for _day, cells in _days_inside(anomaly)]
    return IncidentAmounts(
        currency=anomaly.currency,
        actual=anomaly.actual,
        expected=anomaly.expected,
        expected_low=exact_sum(cells[2] for cells in inside),
        expected_high=exact_sum(cells[3] for cells in inside),
        impact=anomaly.impact,
        month_end_impact=anomaly.month_end_impact,
    )


def anomaly_figures(anomaly: Anomaly, display: AnomalyDisplay) -> IncidentAmounts:
    """Return the amounts of one anomaly."""
    return display.figures(figures_of_anomaly(anomaly), [anomaly])


def days_of(anomaly: Anomaly) -> Iterator[tuple[date, Cells]]:
    """Return the stored days of the anomaly's chart."""
    for day, actual, expected, low, high in anomaly.days:
        yield date.fromisoformat(day), (Decimal(actual), Decimal(expected), Decimal(low), Decimal(high))


def _days_inside(anomaly: Anomaly) -> list[tuple[date, Cells]]:
    return [(day, cells) for day, cells in days_of(anomaly) if anomaly.first_day <= day <= anomaly.last_day]


@dataclass(frozen=True)
class AnomalyDisplay:
    """The display currency and its rates, by currency and day. `only`: show anomalies of this currency only."""

    currency: str = ""
    rates: Mapping[tuple[str, date], Decimal] = field(default_factory=dict)
    only: str = ""

    def narrow(self, rows: QuerySet[Incident]) -> QuerySet[Incident]:
        """Return the anomalies to show."""
        return rows.filter(currency=self.only) if self.only else rows

    def figures(self, stored: IncidentAmounts, anomalies: Sequence[Anomaly]) -> IncidentAmounts:
        """Return the sum of these anomalies in the display currency; as stored if nothing is converted or a day has
        no rate."""
        if self.currency in ("", stored.currency):
            return stored
        last = max(each.last_day for each in anomalies)
        rest_rate = self.rates.get((stored.currency, last))
        columns = [
            (cells, self.rates.get((stored.currency, day)))
            for anomaly in anomalies
            for day, cells in _days_inside(anomaly)
        ]
        if rest_rate is None or any(rate is None for _cells, rate in columns):
            return stored

        def total(place: int, whole: Decimal) -> Decimal:
            """Return the sum of the days, each at its rate. Amounts without a day are converted at the last rate."""
            remainder = exact_difference(whole, exact_sum(cells[place] for cells, _rate in columns))
            days = [convert(cells[place], rate) for cells, rate in columns if rate is not None]
            return exact_sum([*days, convert(remainder, rest_rate)])

        actual, expected = total(0, stored.actual), total(1, stored.expected)
        impact = exact_difference(actual, expected)
        later = exact_difference(stored.month_end_impact, stored.impact)
        shared = ratio(stored.shared_impact, stored.impact.copy_abs()) or ZERO
        return IncidentAmounts(
            currency=self.currency,
            actual=actual,
            expected=expected,
            expected_low=total(2, stored.expected_low),
            expected_high=total(3, stored.expected_high),
            impact=impact,
            month_end_impact=exact_sum([impact, convert(later, rest_rate)]),
            shared_impact=_round(shared, impact.copy_abs()),
            own=stored,
        )

    def days(self, anomaly: Anomaly) -> dict[date, Cells]:
        """Return the days of the anomaly's chart; if it is converted, only days with a rate."""
        if self.currency in ("", anomaly.currency):
            return dict(days_of(anomaly))
        converted: dict[date, Cells] = {}
        for day, (actual, expected, low, high) in days_of(anomaly):
            rate = self.rates.get((anomaly.currency, day))
            if rate is not None:
                converted[day] = (
                    convert(actual, rate),
                    convert(expected, rate),
                    convert(low, rate),
                    convert(high, rate),
                )
        return converted


AS_STORED: Final = AnomalyDisplay()


def anomaly_display(rows: QuerySet[Incident], around: timedelta = timedelta(0)) -> AnomalyDisplay:
    """Return how to show these incidents in the current scope, with the rates of their days and of that many days
    before and after. No query if nothing is converted, else one, and those of the rates."""
    scope = current_currencies()
    if isinstance(scope, OneCurrency):
        return AnomalyDisplay(only=scope.currency)
    if not isinstance(scope, Conversion):
        return AS_STORED
    days = rows.exclude(currency=scope.currency).aggregate(
        first=Min("members__first_day"), last=Max("members__last_day")
    )
    if days["first"] is None:
        return AnomalyDisplay(scope.currency)
    table = scope.rates(days["first"] - around, days["last"] + around)
    rates = table.table.select(["rate_currency", "rate_day", "rate"]).to_pylist() if table else []
    return AnomalyDisplay(
        scope.currency, {(row["rate_currency"], row["rate_day"]): row["rate"] for row in rates}
    )


def converted_causes(causes: Sequence[Causes], figures: IncidentAmounts) -> list[Causes]:
    """Return causes converted at the mean rate of the impact. Shares are unchanged, and causes that added up to the
    impact still do."""
    rate, own = figures.rate, figures.own
    if rate is None or own is None:
        return list(causes)
    return [_converted_causes(each, rate, own.impact, figures.impact) for each in causes]


def _converted_causes(causes: Causes, rate: Decimal, own: Decimal, impact: Decimal) -> Causes:
    whole = impact if causes.total == own else _round(causes.total, rate)
    rows = [
        replace(
            row,
            actual=_round(row.actual, rate),
            expected=_round(row.expected, rate),
            excess=_round(row.excess, rate),
        )
        for row in causes.rows
    ]
    other = _round(causes.other_excess, rate)
    difference = exact_difference(whole, exact_sum([*(row.excess for row in rows), other]))
    if causes.other_values or not rows:
        other = exact_sum([other, difference])
    else:
        rows[0] = replace(rows[0], excess=exact_sum([rows[0].excess, difference]))
    return replace(causes, rows=rows, other_excess=other)


def part_of_impact(amount: Decimal, figures: IncidentAmounts) -> Decimal:
    """Return a part of the stored impact, in the displayed currency."""
    return amount if figures.rate is None else _round(amount, figures.rate)


def impacts_by_currency(figures: Iterable[IncidentAmounts]) -> dict[str, Decimal]:
    """Return the sums of impact by currency, without cost that several incidents share."""
    return {
        currency: exact_sum(each.own_impact for each in own_figures)
        for currency, own_figures in group_by(figures, lambda each: each.currency).items()
    }


CONVERTED: Final = (
    "Converted at the exchange rate of each day. The rest of the month is at the rate of the last day, root causes at the "
    "mean rate."
)


def currency_warnings(figures: Sequence[IncidentAmounts]) -> list[str]:
    """What has no rate, and how the others were converted."""
    missing = missing_rate_warnings(impacts_by_currency(figures))
    return [*missing, CONVERTED] if any(each.own for each in figures) else missing


def _round(amount: Decimal, rate: Decimal) -> Decimal:
    return _CONTEXT.multiply(amount, rate).quantize(_UNIT, context=_CONTEXT)
