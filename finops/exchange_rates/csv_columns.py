"""Columns of a CSV beside converted amounts: for each billed currency the amounts in it, and the rates that converted them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeVar

from finops.exchange_rates.display import Display, used_rates
from finops.exchange_rates.rates import RateSpan, plain_rate
from finops.exchange_rates.rates_column import source_text
from finops.lake.engine.conversion import currency_scope
from finops.lib.money import exact_difference, exact_sum

Answer = TypeVar("Answer")

Figures = Sequence[Decimal | None]
CsvRow = tuple[Hashable, str, Figures]
"""A row's key, its currency, and its figures that are amounts."""

BilledFigures = Mapping[tuple[Hashable, str], Figures]
"""Figures by row and billed currency."""

RATE_COLUMNS: Final = ("lowest rate", "highest rate", "rate dates", "rate source")


@dataclass(frozen=True)
class OriginalAmounts:
    """The extra cells of the rows of a converted answer; none where nothing is converted."""

    target: str = ""
    figures: Sequence[str] = ()
    rates: Mapping[str, Sequence[RateSpan]] = field(default_factory=dict)
    """The rates of the answer's days, by currency."""
    amounts: BilledFigures = field(default_factory=dict)

    @property
    def header(self) -> list[str]:
        names = (*self.figures, *RATE_COLUMNS)
        return [f"{currency} {name}" for currency in self.rates for name in names]

    def cells(self, key: Hashable, currency: str) -> list[Any]:
        """The extra cells of the row `key` of a currency. Empty for a row that is not converted, and for currencies in
        which the row has no cost."""
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
    """Return the original amounts of an answer in `display`. `ask` runs the same query again, which is answered in the
    billed currencies; `rows` gives the figures of an answer. Raises what `ask` raises. Cost: the query once more, and the
    lake query of `used_rates`."""
    if display is None or not display.currency:
        return NONE
    rates: dict[str, list[RateSpan]] = {}
    for span in used_rates(display, days).spans:
        rates.setdefault(span.currency, []).append(span)
    if not rates:
        return NONE
    with currency_scope(None):
        billed = billed_figures(answer, ask(), rows, display.currency)
    return OriginalAmounts(
        display.currency,
        figures,
        dict(sorted(rates.items())),
        {place: values for place, values in billed.items() if any(values) or not figures},
    )


def billed_figures(
    answer: Answer, own: Answer, rows: Callable[[Answer], Iterable[CsvRow]], target: str
) -> BilledFigures:
    """Return the billed figures of `answer`, converted to `target`, including the target's own lines. `own` is the same
    query's answer in the billed currencies. Without amounts that have no rate, which have rows of their own in `answer`;
    None where the converted figure is unknown. Figures of rows with equal keys are added up."""
    converted_rows = _by_row(rows(answer))
    billed: dict[tuple[Hashable, str], Figures] = {}
    for (key, code), values in _by_row(rows(own)).items():
        converted = converted_rows.get((key, target))
        if converted is None:
            continue
        rateless = converted_rows.get((key, code)) if code != target else None
        billed[key, code] = [
            _billed_figure(value, missing, figure)
            for value, missing, figure in zip(
                values, rateless or [None] * len(values), converted, strict=True
            )
        ]
    return billed


def _billed_figure(
    value: Decimal | None, missing: Decimal | None, converted: Decimal | None
) -> Decimal | None:
    if value is None or converted is None:
        return None
    return value if missing is None else exact_difference(value, missing)


def _by_row(rows: Iterable[CsvRow]) -> dict[tuple[Hashable, str], Figures]:
    by_row: dict[tuple[Hashable, str], Figures] = {}
    for key, code, values in rows:
        before = by_row.get((key, code))
        by_row[key, code] = values if before is None else list(map(_sum, before, values))
    return by_row


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    values = [value for value in (one, other) if value is not None]
    return exact_sum(values) if values else None


def _rate_cells(spans: Sequence[RateSpan]) -> list[Any]:
    """Return cells in the order of RATE_COLUMNS: the days are those that the rates were published for."""
    rates, days = [span.rate for span in spans], [span.rate_day for span in spans]
    sources = dict.fromkeys(map(source_text, spans))
    first, last = min(days), max(days)
    when = first.isoformat() if first == last else f"{first} to {last}"
    return [plain_rate(min(rates)), plain_rate(max(rates)), when, " and ".join(sources)]
