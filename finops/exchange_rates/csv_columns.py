"""What a CSV has beside converted amounts: for each currency of the bills the amounts in it, and the rates that converted them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeVar

from finops.exchange_rates.display import Display, used_rates
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.rates import RateSpan, plain_rate
from finops.lake.engine.conversion import currency_scope
from finops.lib.money import exact_difference

Answer = TypeVar("Answer")

Figures = Sequence[Decimal | None]
CsvRow = tuple[Hashable, str, Figures]
"""What a row is of, its currency, and those of its figures that are amounts."""

RATE_COLUMNS: Final = ("lowest rate", "highest rate", "rate dates", "rate source")


@dataclass(frozen=True)
class OriginalAmounts:
    """The cells beside the rows of a converted answer; none where nothing is converted."""

    target: str = ""
    figures: Sequence[str] = ()
    rates: Mapping[str, Sequence[RateSpan]] = field(default_factory=dict)
    """Of the days of the answer, by currency."""
    amounts: Mapping[tuple[Hashable, str], Figures] = field(default_factory=dict)
    """In the currency of the bills, without what has no rate."""

    @property
    def header(self) -> list[str]:
        names = (*self.figures, *RATE_COLUMNS)
        return [f"{currency} {name}" for currency in self.rates for name in names]

    def cells(self, key: Hashable, currency: str) -> list[Any]:
        """Beside the row `key` of a currency. A row that is not converted has none, nor has a row without cost in a currency."""
        cells: list[Any] = []
        for code, spans in self.rates.items():
            amounts = self.amounts.get((key, code)) if currency == self.target else None
            if amounts is None:
                cells += [None] * (len(self.figures) + len(RATE_COLUMNS))
                continue
            cells += [*amounts, *_rate_cells(spans)]
        return cells


NONE: Final = OriginalAmounts()


def original_amounts(
    display: Display | None,
    days: tuple[date, date],
    figures: Sequence[str],
    answer: Answer,
    *,
    ask: Callable[[], Answer],
    rows: Callable[[Answer], Iterable[CsvRow]],
) -> OriginalAmounts:
    """Of an answer in `display`. `ask` asks the same question again, which is answered in the currencies of the bills; `rows`
    gives the figures of an answer. Raises what `ask` raises. Cost: the question once more, and the lake query of `used_rates`."""
    if display is None or not display.currency:
        return NONE
    rates: dict[str, list[RateSpan]] = {}
    for span in used_rates(display, days).spans:
        rates.setdefault(span.currency, []).append(span)
    if not rates:
        return NONE
    without_rate = {(key, code): values for key, code, values in rows(answer)}
    with currency_scope(None):
        own = {
            (key, code): _difference(values, without_rate.get((key, code)))
            for key, code, values in rows(ask())
            if code != display.currency
        }
    return OriginalAmounts(
        display.currency,
        figures,
        dict(sorted(rates.items())),
        {place: values for place, values in own.items() if any(values) or not figures},
    )


def _difference(values: Figures, left_out: Figures | None) -> Figures:
    if left_out is None:
        return values
    return [
        value if value is None or other is None else exact_difference(value, other)
        for value, other in zip(values, left_out, strict=True)
    ]


def _rate_cells(spans: Sequence[RateSpan]) -> list[Any]:
    """In the order of RATE_COLUMNS: the days are those that the rates are of."""
    rates, days = [span.rate for span in spans], [span.rate_day for span in spans]
    sources = dict.fromkeys(ExchangeRate.Source(span.source).label for span in spans)
    first, last = min(days), max(days)
    when = first.isoformat() if first == last else f"{first} to {last}"
    return [plain_rate(min(rates)), plain_rate(max(rates)), when, ", ".join(map(str, sources))]
