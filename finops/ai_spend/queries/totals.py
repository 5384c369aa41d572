"""Totals of billed AI spend, and its cost per 1,000 tokens, per session and per seat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from finops.ai_spend.answers import AiSpendTotal, TrendLine, UnitFigure
from finops.ai_spend.queries.comparison import BilledDay
from finops.ai_spend.queries.costs import DayTokens
from finops.costs.answers import SpendTotal
from finops.lib.money import exact_product, exact_sum, ratio
from finops.lib.periods import DateRange, bucket_start, each_day
from finops.lib.sentences import money
from ingestion.queries import MetricUsage

TOKENS_PER: Final = 1_000
TREND_LINES: Final = 8
OTHER: Final = "Other"
NO_MODEL: Final = "(no model)"


def totals_of(
    spend: Sequence[SpendTotal],
    billed: Sequence[BilledDay],
    tokens: Sequence[DayTokens],
    sessions: MetricUsage | None,
    seats: MetricUsage | None,
    buckets: Sequence[date],
    granularity: str,
) -> list[AiSpendTotal]:
    """One total for each currency, with billed cost by bucket."""
    totals = []
    for total in spend:
        rows = [row for row in billed if row.currency == total.currency]
        other = exact_sum(row.amount for row in rows if not all(row.meter))
        totals.append(
            AiSpendTotal(
                billed=total.amount,
                currency=total.currency,
                other_charges=other,
                change=total.change,
                per_1000_tokens=_per_tokens(total.currency, tokens),
                per_session=_per_unit(total.currency, rows, sessions, "session"),
                per_seat=_per_unit(total.currency, rows, seats, "seat"),
                series=_series(rows, buckets, granularity),
            )
        )
    return totals


def _per_tokens(currency: str, tokens: Sequence[DayTokens]) -> UnitFigure:
    """Cost per 1,000 tokens of lines whose quantity is in tokens."""
    rows = [row for row in tokens if row.currency == currency]
    token_rows = [row for row in rows if row.tokens is not None]
    cost = exact_sum(row.amount for row in token_rows)
    quantity = exact_sum(row.tokens for row in token_rows if row.tokens is not None)
    if not token_rows or quantity <= 0:
        reason = (
            "No bill line has a quantity in tokens." if not token_rows else "The bill's tokens add up to 0."
        )
        return UnitFigure(amount=None, currency=currency, per=TOKENS_PER, reason=reason)
    left_out = exact_sum(row.amount for row in rows if row.tokens is None)
    reason = f"Without {money(left_out, currency)} of lines without a quantity in tokens." if left_out else ""
    return UnitFigure(
        amount=ratio(exact_product(cost, Decimal(TOKENS_PER)), quantity),
        currency=currency,
        cost=cost,
        quantity=quantity,
        per=TOKENS_PER,
        days=len({row.day for row in token_rows}),
        reason=reason,
    )


def _per_unit(currency: str, billed: Sequence[BilledDay], usage: MetricUsage | None, unit: str) -> UnitFigure:
    """The cost of the days on which the metric has events, divided by its quantity."""
    if usage is None:
        return UnitFigure(amount=None, currency=currency, reason=f"No usage metric counts {unit}s.")
    days = set(usage.buckets)
    cost = exact_sum(row.amount for row in billed if row.day in days)
    if not usage.total or usage.total <= 0:
        return UnitFigure(
            amount=None, currency=currency, reason=f"No usage events of {usage.metric!r} on these days."
        )
    return UnitFigure(
        amount=ratio(cost, usage.total), currency=currency, cost=cost, quantity=usage.total, days=len(days)
    )


def buckets_of(days: DateRange, granularity: str) -> list[date]:
    return list(dict.fromkeys(bucket_start(granularity, day) for day in each_day(days)))


def _series(rows: Sequence[BilledDay], buckets: Sequence[date], granularity: str) -> dict[date, Decimal]:
    amounts: dict[date, list[Decimal]] = defaultdict(list)
    for row in rows:
        amounts[bucket_start(granularity, row.day)].append(row.amount)
    return {bucket: exact_sum(amounts.get(bucket, ())) for bucket in buckets}


def trend_of(billed: Sequence[BilledDay], buckets: Sequence[date], granularity: str) -> list[TrendLine]:
    """Billed cost of each model over time, largest first; beyond the eighth of a currency they are one series."""
    by_model: dict[tuple[str, str], list[BilledDay]] = defaultdict(list)
    for row in billed:
        by_model[row.currency, row.meter[0] or NO_MODEL].append(row)
    sizes = {key: exact_sum(row.amount for row in rows) for key, rows in by_model.items()}
    listed = _largest_models(sizes)
    lines: dict[tuple[str, str], list[BilledDay]] = defaultdict(list)
    for (currency, model), rows in by_model.items():
        lines[currency, model if (currency, model) in listed else OTHER].extend(rows)
    ranked = sorted(lines, key=lambda key: (key[0], key not in listed, -sizes.get(key, Decimal(0)), key[1]))
    return [
        TrendLine(
            model=model,
            currency=currency,
            amount=exact_sum(row.amount for row in lines[currency, model]),
            series=_series(lines[currency, model], buckets, granularity),
        )
        for currency, model in ranked
    ]


def _largest_models(sizes: Mapping[tuple[str, str], Decimal]) -> set[tuple[str, str]]:
    listed = set()
    for currency in {key[0] for key in sizes}:
        largest = sorted(
            (key for key in sizes if key[0] == currency), key=lambda key: (-abs(sizes[key]), key)
        )
        listed |= set(largest[:TREND_LINES])
    return listed
