"""Billed and estimated cost on the same days, and each reason for their difference with its amount. Exact: the parts
add up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from finops.ai_spend.answers import DifferencePart, Estimate
from finops.ai_spend.queries.costs import DayTokens
from finops.ai_spend.queries.estimates import (
    EstimatedTokens,
    Pricing,
    cost_by_currency,
    own_price_models,
)
from finops.lib.money import currencies_by_amount, exact_difference, exact_sum
from finops.lib.sentences import join_with_and, truncate

Meter = tuple[str, str]
"""Model and token type, each empty if unknown."""

ZERO: Final = Decimal(0)
NAMED: Final = 3

OTHER_CHARGES, NOT_IN_USAGE, NOT_IN_BILL = "other_charges", "not_in_usage", "not_in_bill"
NO_PRICE, VOLUME, PRICE, PRICE_AND_VOLUME = "no_price", "volume", "price", "price_and_volume"

_TEXTS: Final = {
    OTHER_CHARGES: "Charges other than tokens, such as seats and searches",
    NOT_IN_USAGE: "Billed without usage events",
    NOT_IN_BILL: "Usage that no bill has",
    NO_PRICE: "Usage without a price",
    VOLUME: "More or fewer tokens in the bill than in usage, at {prices}",
    PRICE: "Billed prices against {prices}",
    PRICE_AND_VOLUME: "Prices and tokens; the bill has no quantity in tokens",
}


class BilledDay(NamedTuple):
    """Billed cost of a meter on a day."""

    meter: Meter
    day: date
    currency: str
    amount: Decimal


@dataclass(frozen=True)
class Sides:
    """Both sides of the comparison. Days after `complete_through` have incomplete cost."""

    billed: Sequence[BilledDay]
    tokens: Sequence[DayTokens]
    usage: Sequence[EstimatedTokens]
    pricing: Pricing
    complete_through: date | None

    @property
    def usage_days(self) -> set[date]:
        return {row.day for row in self.usage}

    @property
    def price_source(self) -> str:
        """The source of the prices that the estimate uses."""
        return "own prices and the price list" if own_price_models(self.usage) else "the price list"

    @property
    def compared_days(self) -> set[date]:
        """Days with usage whose cost is complete."""
        through = self.complete_through or date.min
        return {day for day in self.usage_days if day <= through}


def estimates_of(sides: Sides) -> list[Estimate]:
    """One comparison for each currency of the prices, largest estimate first."""
    costs = cost_by_currency(sides.usage)
    return [_estimate(sides, currency, costs[currency]) for currency in currencies_by_amount(costs)]


def _estimate(sides: Sides, currency: str, estimated: Decimal) -> Estimate:
    days = sides.compared_days
    billed = _by_meter((row.meter, row.amount) for row in sides.billed if _is_of(row, currency, days))
    priced = _by_meter(
        ((row.model, row.token_type), row.cost)
        for row in sides.usage
        if row.currency == currency and row.day in days and row.cost is not None
    )
    if not billed:
        reason = f"No AI spend billed in {currency} on days with usage and complete cost."
        return Estimate(
            estimated=estimated,
            currency=currency,
            usage_days=len(sides.usage_days),
            compared_days=len(days),
            compared_billed=None,
            compared_estimated=None,
            difference=None,
            parts=[],
            reason=reason,
        )
    compared_billed, compared_estimated = exact_sum(billed.values()), exact_sum(priced.values())
    return Estimate(
        estimated=estimated,
        currency=currency,
        usage_days=len(sides.usage_days),
        compared_days=len(days),
        compared_billed=compared_billed,
        compared_estimated=compared_estimated,
        difference=exact_difference(compared_billed, compared_estimated),
        parts=_parts(sides, currency, billed, priced),
    )


def _is_of(row: BilledDay, currency: str, days: Collection[date]) -> bool:
    return row.currency == currency and row.day in days


def _by_meter(rows: Iterable[tuple[Meter, Decimal]]) -> dict[Meter, Decimal]:
    amounts: dict[Meter, list[Decimal]] = defaultdict(list)
    for meter, amount in rows:
        amounts[meter].append(amount)
    return {meter: exact_sum(each) for meter, each in amounts.items()}


def _parts(
    sides: Sides, currency: str, billed: Mapping[Meter, Decimal], priced: Mapping[Meter, Decimal]
) -> list[DifferencePart]:
    used = {(row.model, row.token_type) for row in sides.usage if row.day in sides.compared_days}
    no_price = {(row.model, row.token_type) for row in sides.usage if row.cost is None}
    at_list = _billed_tokens_at_list(sides, currency)
    amounts: dict[str, dict[Meter, Decimal]] = defaultdict(dict)
    for meter in [*billed, *(meter for meter in priced if meter not in billed)]:
        bill, estimate = billed.get(meter, ZERO), priced.get(meter, ZERO)
        whole = exact_difference(bill, estimate)
        if not all(meter):
            amounts[OTHER_CHARGES][meter] = whole
        elif meter not in used:
            amounts[NOT_IN_USAGE][meter] = whole
        elif meter not in billed:
            amounts[NOT_IN_BILL][meter] = whole
        elif meter in no_price:
            amounts[NO_PRICE][meter] = whole
        elif (listed := at_list.get(meter)) is None:
            amounts[PRICE_AND_VOLUME][meter] = whole
        else:
            amounts[VOLUME][meter] = exact_difference(listed, estimate)
            amounts[PRICE][meter] = exact_difference(bill, listed)
    return [
        DifferencePart(
            name=name,
            text=_text(name, amounts[name], sides.price_source),
            amount=exact_sum(amounts[name].values()),
            currency=currency,
        )
        for name in _TEXTS
        if any(amounts[name].values())
    ]


def _billed_tokens_at_list(sides: Sides, currency: str) -> dict[Meter, Decimal | None]:
    """The cost of the bill's tokens at list prices; None if a line has no quantity in tokens or no price."""
    at_list: dict[Meter, Decimal | None] = {}
    for row in sides.tokens:
        if row.currency != currency or row.day not in sides.compared_days:
            continue
        meter = sides.pricing.prices.model_name(row.model), row.token_type
        before = at_list.get(meter, ZERO)
        cost, of_price = None, ""
        if row.tokens is not None:
            cost, of_price, _reason = sides.pricing.cost_of(row.model, row.token_type, row.day, row.tokens)
        is_comparable = before is not None and cost is not None and of_price == currency
        at_list[meter] = exact_sum([before or ZERO, cost or ZERO]) if is_comparable else None
    return at_list


def _text(name: str, amounts: Mapping[Meter, Decimal], prices: str) -> str:
    if name not in (NOT_IN_USAGE, NOT_IN_BILL, NO_PRICE):
        return _TEXTS[name].format(prices=prices)
    largest = sorted(amounts, key=lambda meter: (amounts[meter].copy_abs().copy_negate(), meter))
    models = list(dict.fromkeys(truncate(model, 60) for model, _kind in largest))
    more = [f"{len(models) - NAMED} more"] if len(models) > NAMED else []
    return f"{_TEXTS[name]}: {join_with_and([*models[:NAMED], *more])}"
