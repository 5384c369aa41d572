"""The cost of a line of a Cost and Usage Report, by its type.

BilledCost is the unblended cost; EffectiveCost is AWS's amortized cost. Source: AWS Cost and Usage Reports user guide,
"Understanding your reservations" and "Understanding Savings Plans"; AWS Well-Architected Labs, "CUR query library":

    SavingsPlanCoveredUsage   SavingsPlanEffectiveCost
    SavingsPlanRecurringFee   TotalCommitmentToDate - UsedCommitment
    SavingsPlanNegation, SavingsPlanUpfrontFee, Fee of a reservation   0
    DiscountedUsage           reservation/EffectiveCost
    RIFee                     UnusedAmortizedUpfrontFeeForBillingPeriod + UnusedRecurringFee
    else                      UnblendedCost

A report whose discounts are columns (Data Exports without "manual discount compatibility") has no lines of discounts: its
unblended costs are before them, and its net costs after. There the net columns are taken, of lines that have a discount.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.aws import line_types
from finops.costs.native.aws.cur_lines import (
    LINE_TYPE,
    PLAN,
    RESERVATION,
    SPLIT_PARENT,
    ZERO,
    CurLines,
    add,
    cached_per_batch,
    is_nonzero,
    subtract,
)
from finops.lake.schema import MONEY

UNBLENDED: Final = "line_item_unblended_cost"
NET, DISCOUNT = "line_item_net_unblended_cost", "discount_total_discount"
_RESERVATION_COST: Final = ("reservation_net_effective_cost", "reservation_effective_cost")
_PLAN_COST: Final = (
    "savings_plan_net_savings_plan_effective_cost",
    "savings_plan_savings_plan_effective_cost",
)
_UPFRONT: Final = (
    "reservation_net_unused_amortized_upfront_fee_for_billing_period",
    "reservation_unused_amortized_upfront_fee_for_billing_period",
)
_RECURRING: Final = ("reservation_net_unused_recurring_fee", "reservation_unused_recurring_fee")
COMMITTED, USED = "savings_plan_total_commitment_to_date", "savings_plan_used_commitment"
_PLAN_FEES: Final = (
    "savings_plan_recurring_commitment_for_billing_period",
    "savings_plan_amortized_upfront_commitment_for_billing_period",
)
_NET_PLAN_FEES: Final = (
    "savings_plan_net_recurring_commitment_for_billing_period",
    "savings_plan_net_amortized_upfront_commitment_for_billing_period",
)
_SPLIT: Final = ("split_line_item_net_split_cost", "split_line_item_split_cost")
_SPLIT_UNUSED: Final = ("split_line_item_net_unused_cost", "split_line_item_unused_cost")

BILLED_COLUMNS: Final = (UNBLENDED, LINE_TYPE, NET, DISCOUNT, SPLIT_PARENT)
UNUSED_COLUMNS: Final = (
    *_UPFRONT,
    *_RECURRING,
    COMMITTED,
    USED,
    *_PLAN_FEES,
    *_NET_PLAN_FEES,
    DISCOUNT,
    RESERVATION,
    PLAN,
)
UNUSED_OF_RESERVATIONS: Final = (*_UPFRONT, *_RECURRING)
SPLIT_COLUMNS: Final = (SPLIT_PARENT, *_SPLIT, *_SPLIT_UNUSED)
EFFECTIVE_COLUMNS: Final = (*BILLED_COLUMNS, *_RESERVATION_COST, *_PLAN_COST, *UNUSED_COLUMNS, *SPLIT_COLUMNS)
AMOUNTS: Final = tuple(
    name
    for name in dict.fromkeys(EFFECTIVE_COLUMNS)
    if name not in (LINE_TYPE, RESERVATION, PLAN, SPLIT_PARENT)
)
"""Numeric columns."""


def _after_discounts(lines: CurLines, names: tuple[str, str]) -> pa.Array:
    """Return the net column for lines that have a discount, also if it is 0; else the column before discounts.

    Only if discounts are columns and not lines: otherwise they would count twice.
    """
    net_name, gross_name = names
    gross = lines.amount(gross_name)
    if not lines.has(DISCOUNT) or not lines.has(net_name):
        return gross
    net = lines.amount(net_name)
    is_net = pc.or_(is_nonzero(net), pc.and_(is_nonzero(lines.amount(DISCOUNT)), pc.is_valid(net)))
    return pc.if_else(is_net, net, gross)


def billed_cost(lines: CurLines) -> pa.Array:
    """BilledCost: 0 for usage that a savings plan covers, since FOCUS omits its negation, and for second lines."""
    cost = pc.if_else(lines.are(line_types.COVERED_BY_PLAN), ZERO, cost_after_discounts(lines))
    return cost if lines.second is None else pc.if_else(lines.second, ZERO, cost)


@cached_per_batch
def cost_after_discounts(lines: CurLines) -> pa.Array:
    """The unblended cost; the net cost for lines with a discount. Shares of another line have no own cost."""
    cost = lines.amount(UNBLENDED)
    if lines.has(DISCOUNT) and lines.has(NET):
        net = lines.amount(NET)
        discounted = pc.and_(is_nonzero(lines.amount(DISCOUNT)), pc.is_valid(net))
        cost = pc.if_else(discounted, net, cost)
    return pc.if_else(lines.is_share(), pc.fill_null(cost, ZERO), cost) if lines.has(SPLIT_PARENT) else cost


@cached_per_batch
def effective_cost(lines: CurLines) -> pa.Array:
    """EffectiveCost: amortized; the unused part of a commitment is on the second line of its fee. BadCell for covered
    usage without its amortized cost."""
    return lines.replace(cost_after_discounts(lines), _is_special(lines), _special_cost)


def _special_cost(lines: CurLines) -> pa.Array:
    cost = cost_after_discounts(lines)
    for line_type, names in (
        (line_types.COVERED_BY_PLAN, _PLAN_COST),
        (line_types.COVERED_BY_RESERVATION, _RESERVATION_COST),
    ):
        covered = pc.and_(lines.are(line_type), pc.invert(lines.is_share()))
        lines.required_amount(names[1], covered)
        cost = pc.if_else(covered, _after_discounts(lines, names), cost)
    cost = pc.if_else(_is_amortized_purchase(lines), ZERO, cost)
    if not lines.has(SPLIT_PARENT):
        return cost if lines.second is None else pc.if_else(lines.second, unused_cost(lines), cost)
    shares = lines.is_share()
    share = pc.fill_null(shared_cost(lines), ZERO)
    cost = pc.if_else(shares, share, cost)
    if lines.second is None:
        return cost
    return pc.if_else(lines.second, pc.if_else(shares, pc.negate(share), unused_cost(lines)), cost)


@cached_per_batch
def unused_cost(lines: CurLines) -> pa.Array:
    """The unused part of a commitment: on fees; 0 on other lines."""
    return lines.replace(lines.batch.zeros(), lines.are(*line_types.RECURRING_FEES), _unused_of_fees)


def _unused_of_fees(lines: CurLines) -> pa.Array:
    upfront = pc.fill_null(_after_discounts(lines, _UPFRONT), ZERO)
    recurring = pc.fill_null(_after_discounts(lines, _RECURRING), ZERO)
    of_plan = pc.if_else(lines.are(line_types.PLAN_FEE), _unused_of_plan(lines), ZERO)
    return pc.if_else(lines.are(line_types.RESERVATION_FEE), add(upfront, recurring), of_plan)


def _unused_of_plan(lines: CurLines) -> pa.Array:
    """Return 0 for a report that lacks one of the two columns, which its notes say."""
    if not (lines.has(COMMITTED) and lines.has(USED)):
        return pa.repeat(ZERO, lines.batch.size)
    unused = subtract(lines.amount_or_zero(COMMITTED), lines.amount_or_zero(USED))
    return _in_net_of_fee(lines, unused)


def _in_net_of_fee(lines: CurLines, unused: pa.Array) -> pa.Array:
    """Return savings plans' unused commitment times net fee ÷ fee, since the report has no net amount of it.

    Cost: a division for each fee with something unused; there is one per hour and plan.
    """
    if not lines.has(DISCOUNT):
        return unused
    fee = add(*(lines.amount_or_zero(name) for name in _PLAN_FEES))
    net = add(*(lines.amount_or_zero(name) for name in _NET_PLAN_FEES))
    scaled = pc.and_(pc.and_(is_nonzero(net), is_nonzero(fee)), lines.are(line_types.PLAN_FEE))
    scaled = pc.and_(scaled, is_nonzero(unused))
    if not pc.any(scaled).as_py():
        return unused
    exact = [
        (left * part / whole).quantize(_PLACE)
        for left, part, whole in zip(
            *(values.filter(scaled).to_pylist() for values in (unused, net, fee)), strict=True
        )
    ]
    return pc.replace_with_mask(unused, scaled, pa.array(exact, MONEY))


_PLACE: Final = Decimal(1).scaleb(-18)


@cached_per_batch
def shared_cost(lines: CurLines) -> pa.Array:
    """Return the split cost allocation of a pod or task: its share of used and unused cost. 0 for other lines.

    Source: AWS Cost and Usage Reports user guide, "Split line item details"; both are amortized costs.
    """
    return lines.replace(lines.batch.zeros(), lines.is_share(), _share)


def _share(lines: CurLines) -> pa.Array:
    own = pc.fill_null(_after_discounts(lines, _SPLIT), ZERO)
    unused = pc.fill_null(_after_discounts(lines, _SPLIT_UNUSED), ZERO)
    return add(own, unused)


def _is_special(lines: CurLines) -> pa.Array:
    """Return lines whose effective cost differs from their billed cost."""
    fees = lines.are(line_types.PLAN_UPFRONT, line_types.FEE, *line_types.COVERED, *line_types.RECURRING_FEES)
    return pc.or_(fees, lines.is_share())


def _is_amortized_purchase(lines: CurLines) -> pa.Array:
    """Return purchases that cover later usage: FOCUS 1.2, EffectiveCost, gives them 0."""
    upfront = lines.are(line_types.PLAN_UPFRONT, *line_types.RECURRING_FEES)
    if not lines.has(RESERVATION):
        return upfront
    return pc.or_(upfront, pc.and_(lines.are(line_types.FEE), pc.is_valid(lines.text(RESERVATION))))
