"""Sentences of a simulation's answer."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from finops.insights.simulation.figures import END, GROWTH, PRICE, Assumption
from finops.insights.simulation.schemas import (
    LeftOutCost,
    ModelChange,
    OtherPrice,
    Purchase,
    PurchaseResult,
    RegionMove,
    SimulatedTotal,
    SimulationQuery,
    UsageGrowth,
)
from finops.lib.periods import DateRange
from finops.lib.sentences import exact_number, join_with_and, money, quote

KEEP: Final = (
    "Commitments stay: they cover what they covered, more usage is at contracted prices, and less usage leaves them unused at the "
    "same cost."
)
ENDED: Final = "usage they covered is at its contracted cost, and unused commitments cost nothing."
FIXED_STAYS: Final = (
    "Taxes, credits, fees, purchases and adjustments stay as billed, also where they depend on usage."
)
LINEAR: Final = "Cost grows with usage in proportion: no tiers, free quotas or volume discounts."
LISTED: Final = "Usage types of the price list cost their quantity times the price, where they are not covered by a commitment."
REGION: Final = (
    "A region's usage costs what own usage of the same provider, service, usage type, unit and pricing category cost per unit in the "
    "other region in these days. No transfer and no migration is counted."
)
MODEL: Final = "Another model needs as many tokens. Prices are those of the public price list on each day."
BY_DAY: Final = (
    "Where bills have no hours, usage is taken as even over the day, which overstates what a purchase saves."
)
PURCHASES: Final = (
    "A purchase covers usage at standard prices, and usage whose commitment ends. It costs the same in each hour, used or not; hours "
    "are not netted."
)
NOTHING: Final = "Nothing is changed: give growth, commitments, purchases, prices, regions or models."


def name_of(query: SimulationQuery, assumption: Assumption) -> str:
    """The label of an assumption's effect."""
    kind, place = assumption
    if kind == END:
        return end_name(query.ending)
    if kind == GROWTH:
        return growth_name(query.growth[place])
    if kind == PRICE:
        return price_names(query)[place]
    return purchase_name(query.purchases[place])


def end_name(ending: Sequence[str]) -> str:
    return f"Commitments {join_with_and(list(map(quote, ending)))} end" if ending else "Commitments end"


def growth_name(growth: UsageGrowth) -> str:
    scope = _scope(growth.dimension, growth.values)
    usage = f"Usage of {scope}" if scope else "All usage"
    if growth.usage_metric:
        return f"{usage} as {quote(growth.usage_metric)} at {exact_number(growth.quantity or Decimal(0))}"
    percent = growth.percent or Decimal(0)
    return f"{usage} {'+' if percent > 0 else ''}{exact_number(percent)} %"


def price_names(query: SimulationQuery) -> list[str]:
    """Names of the price changes by place."""
    return [
        *map(price_name, query.prices),
        *map(price_name, query.regions),
        *map(price_name, query.models),
    ]


def price_name(change: OtherPrice | RegionMove | ModelChange) -> str:
    if isinstance(change, OtherPrice):
        price = f"{exact_number(change.unit_price)} {change.currency.upper()}"
        return f"{quote(change.usage_type)} at {price} each"
    if isinstance(change, RegionMove):
        return f"Region {quote(change.region)} at prices of {quote(change.to_region)}"
    of = f"{quote(change.token_type)} tokens" if change.token_type else "tokens"
    to = f"{quote(change.to_token_type)} tokens" if change.to_token_type else "tokens"
    return (
        f"{exact_number(change.percent)} % of {of} of {quote(change.model)} as {to} of "
        f"{quote(change.to_model or change.model)}"
    )


def purchase_name(purchase: Purchase) -> str:
    scope = _scope(purchase.dimension, purchase.values)
    amount = f"{exact_number(purchase.per_hour)} {purchase.currency.upper()}".strip()
    return f"Purchase of {amount} per hour{f' for {scope}' if scope else ''}"


def _scope(dimension: str, values: Sequence[str]) -> str:
    return f"{dimension} {join_with_and(list(map(quote, values)))}" if dimension else ""


def assumptions(
    query: SimulationQuery,
    fixed: Sequence[tuple[str, Decimal]],
    purchases: Sequence[tuple[PurchaseResult, bool]],
    *,
    has_covered: bool,
    notes: Sequence[str],
) -> list[str]:
    """All assumptions, in order of application. `fixed`: amounts that stay; `purchases`: with whether the discount
    was entered; `notes`: growth of the metrics that usage follows."""
    ends = query.commitments == "end" or query.ending
    amounts = [money(amount, currency) for currency, amount in fixed if amount]
    stays = f"{FIXED_STAYS} They are {join_with_and(amounts)} here." if amounts else FIXED_STAYS
    stays_clause = "; others stay" if query.ending else ""
    return [
        "Amortized cost of all charges, at the prices of these days.",
        *([f"{end_name(query.ending)}{stays_clause}: {ENDED}"] if ends else [KEEP] if has_covered else []),
        *(f"{growth_name(each)}." for each in query.growth),
        *notes,
        *([LINEAR] if query.growth else []),
        *(f"{name}." for name in price_names(query)),
        *([LISTED] if query.prices else []),
        *([REGION] if query.regions else []),
        *([MODEL] if query.models else []),
        *(_purchase_text(each, entered=entered) for each, entered in purchases),
        *([PURCHASES] if purchases else []),
        *([BY_DAY] if any(each.days_by_day for each, _ in purchases) else []),
        stays,
    ]


def _purchase_text(result: PurchaseResult, *, entered: bool) -> str:
    discount = f"{exact_number(result.discount_percent)} % below on-demand prices"
    reason = "as entered" if entered else "as usage that commitments cover now"
    days = [f"{_days(result.days_by_hour)} by hour"] if result.days_by_hour else []
    days += [f"{_days(result.days_by_day)} by day"] if result.days_by_day else []
    return f"{result.assumption}: {discount}, {reason}; {join_with_and(days) or 'no day with such usage'}."


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


def summary(
    days: DateRange,
    totals: Sequence[SimulatedTotal],
    left_out: Sequence[LeftOutCost],
    not_final: str,
    purchases: Sequence[PurchaseResult],
    counted: DateRange | None,
    clause: str,
    *,
    filtered: bool = False,
    has_assumptions: bool = True,
) -> str:
    """The first sentence. `not_final`: a clause on incomplete days. `counted`: the days on which purchases count."""
    within = " within the filters" if filtered else ""
    if not totals and not left_out:
        return f"No cost{within} from {days.start} to {days.end}, so nothing to simulate{not_final}{clause}."
    amounts = [
        f"{money(each.simulated, each.currency)} instead of {money(each.baseline, each.currency)}"
        for each in totals
    ]
    caveats = [f"{money(each.cost, each.currency)} {each.reason} is left out" for each in left_out]
    if purchases and counted and counted != days:
        caveats.append(f"purchases count from {counted.start} to {counted.end} alone")
    by_day = max((each.days_by_day for each in purchases), default=0)
    if by_day:
        caveats.append(
            f"purchases count by day, not by hour, on {_days(by_day)}, which overstates what they save"
        )
    caveats_clause = f"; {'; '.join(caveats)}" if caveats else ""
    if not has_assumptions:
        costs = join_with_and([money(each.baseline, each.currency) for each in totals])
        return f"{days.start} to {days.end} cost {costs} amortized{within}; no assumption is set, so nothing changes{not_final}{caveats_clause}{clause}."
    return f"{days.start} to {days.end} would have been {join_with_and(amounts)} amortized under the assumptions{within}{not_final}{caveats_clause}{clause}."
