"""Amounts in messages, as text and as JSON."""

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
    """Return an amount as JSON: a number with six places and its currency; None where it is unknown."""
    return None if value is None else {"amount": float(round_amount(value)), "currency": currency}


def signed_amount(value: Decimal, currency: str) -> str:
    """Format an amount with its sign: `+$1,234.50`."""
    return numbers.signed_money(value, currency)


def totals_text(totals: Sequence[SpendTotal]) -> str:
    """Format totals: `$1,234.50 and €3.00`; above three currencies, the first three and the number of others."""
    texts = [numbers.money(each.amount, each.currency) for each in totals[:MOST_CURRENCIES]]
    more = len(totals) - MOST_CURRENCIES
    if more > 0:
        texts.append(f"amounts in {more} more {'currency' if more == 1 else 'currencies'}")
    return join_with_and(texts) if texts else "no cost"


def spend_chart(totals: Sequence[SpendTotal], granularity: str) -> ColumnChart | None:
    """Return the chart of spend by day, week or month in the first total's currency; None without or with too many."""
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
    """Format a change: `+$120.00 (+4.1%)`; empty without a comparison. If not all days are compared, it says so."""
    change = total.change
    if change is None or change.change is None:
        return ""
    share = "" if change.ratio is None else f" ({numbers.change(change.ratio)})"
    part = "" if change.current_amount == total.amount else " on complete days"
    return f"{signed_amount(change.change, total.currency)}{share}{part}"


def share(part: Decimal, whole: Decimal) -> str:
    """Format the share of the whole: `12.3%`; empty when the whole is 0."""
    value = ratio(part, whole)
    return "" if value is None else numbers.percent(value)


def amount_with_share(part: Decimal, whole: Decimal, currency: str) -> str:
    """Format an amount with its share: `$12.30 (12.3%)`."""
    text = numbers.money(part, currency)
    percent = share(part, whole)
    return f"{text} ({percent})" if percent else text
