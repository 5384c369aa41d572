"""The rates of a list's amounts, as one column of its CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from finops.exchange_rates.display import current_display, used_rates
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.rates import RateSpan, plain_rate
from finops.lib.answers import group_by
from finops.lib.errors import UserError

HEADER: Final = "exchange rates"
MAX_RATES: Final = 4
"""The most rates that are listed; with more, the range of each currency."""


def rates_column() -> tuple[str, str] | None:
    """Return the rates that converted the answers of this scope; None where nothing was converted. One lake query, cached
    with the others."""
    display = current_display()
    if display is None or display.days is None:
        return None
    try:
        spans = used_rates(display).spans
    except UserError as problem:
        return HEADER, problem.message
    return (HEADER, rates_text(spans, display.currency)) if spans else None


def rates_text(spans: Sequence[RateSpan], target: str) -> str:
    """`1 EUR = 1.0861 USD (2026-02-27, European Central Bank)`; for many `1 EUR = 1.0412 to 1.0861 USD (20 rates of
    2026-02-02 to 2026-02-27, European Central Bank)`."""
    if len(spans) <= MAX_RATES:
        return "; ".join(
            f"1 {each.currency} = {plain_rate(each.rate)} {target} ({each.rate_day}, {source_text(each)})"
            for each in spans
        )
    return "; ".join(_range_text(own, target) for own in group_by(spans, lambda each: each.currency).values())


def source_text(span: RateSpan) -> str:
    """`European Central Bank`, `Entered, inverse`, `European Central Bank, through EUR`."""
    through = span.through if span.through in ("", "inverse") else f"through {span.through}"
    return ", ".join(filter(None, [str(ExchangeRate.Source(span.source).label), through]))


def _range_text(spans: Sequence[RateSpan], target: str) -> str:
    rates, days = [each.rate for each in spans], [each.rate_day for each in spans]
    sources = " and ".join(dict.fromkeys(map(source_text, spans)))
    return (
        f"1 {spans[0].currency} = {plain_rate(min(rates))} to {plain_rate(max(rates))} {target} "
        f"({len(spans)} rates of {min(days)} to {max(days)}, {sources})"
    )
