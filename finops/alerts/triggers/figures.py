"""Amounts in messages: for people, and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from finops.costs.answers import SpendTotal
from finops.lib.charts import bucket_label
from finops.lib.drawings.chart import MAX_COLUMNS, ColumnChart, DrawnSeries, to_values
from finops.lib.formats import numbers
from finops.lib.money import ratio, round_amount
from finops.lib.sentences import join_with_and

MOST_CURRENCIES: Final = 3


def amount(value: Decimal | None, currency: str) -> dict[str, Any] | None:
    """For programs: a JSON number of six places beside its currency; None where it is not known."""
    return None if value is None else {"amount": float(round_amount(value)), "currency": currency}


def signed_amount(value: Decimal, currency: str) -> str:
    """`+$1,234.50`."""
    return numbers.signed_money(value, currency)


def totals_text(totals: Sequence[SpendTotal]) -> str:
    """`$1,234.50 and €3.00`; of more than three currencies the first three and how many more there are."""
    texts = [numbers.money(each.amount, each.currency) for each in totals[:MOST_CURRENCIES]]
    more = len(totals) - MOST_CURRENCIES
    if more > 0:
        texts.append(f"amounts in {more} more {'currency' if more == 1 else 'currencies'}")
    return join_with_and(texts) if texts else "no cost"


def spend_chart(totals: Sequence[SpendTotal], granularity: str) -> ColumnChart | None:
    """Spend by day, week or month in the currency of the first total; None without buckets, and with more than fit."""
    if not totals or not 1 < len(totals[0].series) <= MAX_COLUMNS:
        return None
    total = totals[0]
    return ColumnChart(
        title=f"Spend by {granularity} in {total.currency}",
        currency=total.currency,
        labels=[bucket_label(day, granularity) for day in total.series],
        series=[DrawnSeries(name="Spend", values=to_values(list(total.series.values())))],
    )


def change_text(total: SpendTotal) -> str:
    """`+$120.00 (+4.1%)`; nothing where there is nothing to compare with."""
    change = total.change
    if change is None or change.change is None:
        return ""
    share = "" if change.ratio is None else f" ({numbers.change(change.ratio)})"
    return f"{signed_amount(change.change, total.currency)}{share}"


def share(part: Decimal, whole: Decimal) -> str:
    """`12.3%` of the whole; empty when that is 0."""
    value = ratio(part, whole)
    return "" if value is None else numbers.percent(value)


def amount_with_share(part: Decimal, whole: Decimal, currency: str) -> str:
    """`$12.30 (12.3%)`."""
    text = numbers.money(part, currency)
    percent = share(part, whole)
    return f"{text} ({percent})" if percent else text
