"""What a line of a Cost and Usage Report costs, by its type.

BilledCost is the unblended cost; EffectiveCost is AWS's amortized cost. Source: AWS Cost and Usage Reports user guide,
"Understanding your amortized reservation data" and "Understanding Savings Plans"; AWS Well-Architected Labs, "CUR queries":

    SavingsPlanCoveredUsage   SavingsPlanEffectiveCost
    SavingsPlanRecurringFee   TotalCommitmentToDate - UsedCommitment
    SavingsPlanNegation, SavingsPlanUpfrontFee, Fee of a reservation   0
    DiscountedUsage           reservation/EffectiveCost
    RIFee                     UnusedAmortizedUpfrontFeeForBillingPeriod + UnusedRecurringFee
    else                      UnblendedCost
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.aws import line_types
from finops.costs.native.aws.cur_columns import CurColumns
from finops.costs.native.native_batch import NativeBatch
from finops.lake.schema import MONEY

LINE_TYPE: Final = "line_item_line_item_type"
UNBLENDED: Final = "line_item_unblended_cost"
RESERVATION, PLAN = "reservation_reservation_arn", "savings_plan_savings_plan_arn"
_RESERVATION_COST: Final = "reservation_effective_cost"
_PLAN_COST: Final = "savings_plan_savings_plan_effective_cost"
_UNUSED_UPFRONT: Final = "reservation_unused_amortized_upfront_fee_for_billing_period"
_UNUSED_RECURRING: Final = "reservation_unused_recurring_fee"
_COMMITTED, _USED = "savings_plan_total_commitment_to_date", "savings_plan_used_commitment"
_SPLIT, _SPLIT_UNUSED = "split_line_item_split_cost", "split_line_item_unused_cost"
SPLIT_PARENT: Final = "split_line_item_parent_resource_id"

UNUSED_COLUMNS: Final = (_UNUSED_UPFRONT, _UNUSED_RECURRING, _COMMITTED, _USED)
SPLIT_COLUMNS: Final = (SPLIT_PARENT, _SPLIT, _SPLIT_UNUSED)
COST_COLUMNS: Final = (_RESERVATION_COST, _PLAN_COST, *UNUSED_COLUMNS)
EFFECTIVE_COLUMNS: Final = (LINE_TYPE, RESERVATION, *COST_COLUMNS)

ZERO: Final = pa.scalar(0, MONEY)


class CurLines:
    """Lines of a batch, by what they are and cost. `second` marks the second line of those that FOCUS has as two."""

    def __init__(self, batch: NativeBatch, columns: CurColumns, second: pa.Array | None) -> None:
        self.batch = batch
        self.columns = columns
        self.second = second

    def name(self, name: str) -> str:
        return self.columns.name(name)

    def has(self, name: str) -> bool:
        return self.columns.has(name)

    def text(self, name: str) -> pa.DictionaryArray:
        return self.batch.text(self.name(name))

    def are(self, *types: str) -> pa.Array:
        """Which lines are of these types."""
        return self.batch.is_one_of(self.name(LINE_TYPE), types)

    def amount(self, name: str) -> pa.Array:
        """A column of numbers; null in every line where the report lacks it."""
        if not self.has(name):
            return pa.nulls(self.batch.size, MONEY)
        return self.batch.amount(self.name(name))

    def _or_zero(self, name: str) -> pa.Array:
        return pc.fill_null(self.amount(name), ZERO)

    def unblended_cost(self) -> pa.Array:
        return self.amount(UNBLENDED)

    def unused_cost(self) -> pa.Array:
        """What was not used of a commitment: of fees, 0 in other lines."""
        reservation = _sum(self._or_zero(_UNUSED_UPFRONT), self._or_zero(_UNUSED_RECURRING))
        plan = _difference(self._or_zero(_COMMITTED), self._or_zero(_USED))
        of_plan = pc.if_else(self.are(line_types.PLAN_FEE), plan, ZERO)
        return pc.if_else(self.are(line_types.RESERVATION_FEE), reservation, of_plan)

    def split_cost(self) -> pa.Array:
        """What split cost allocation data gives to a pod or task: its share and its share of what nobody used."""
        return _sum(self._or_zero(_SPLIT), self._or_zero(_SPLIT_UNUSED))

    def is_split(self) -> pa.Array:
        """Which lines share out the cost of another line."""
        if not self.has(SPLIT_PARENT):
            return pa.repeat(pa.scalar(False), self.batch.size)
        return pc.is_valid(self.text(SPLIT_PARENT))

    def billed_cost(self) -> pa.Array:
        """BilledCost: unblended; 0 of what a savings plan covers, whose negation FOCUS does not have."""
        billed = pc.if_else(self.are(line_types.COVERED_BY_PLAN), ZERO, self.unblended_cost())
        return billed if self.second is None else pc.if_else(self.second, ZERO, billed)

    def effective_cost(self) -> pa.Array:
        """EffectiveCost: amortized; what was not used of a commitment stands in the second line of its fee."""
        cost = self.unblended_cost()
        if not pc.any(self._is_special()).as_py():
            return cost
        cost = pc.if_else(self.are(line_types.COVERED_BY_PLAN), self.amount(_PLAN_COST), cost)
        cost = pc.if_else(self.are(line_types.COVERED_BY_RESERVATION), self.amount(_RESERVATION_COST), cost)
        cost = pc.if_else(self._is_amortized_purchase(), ZERO, cost)
        if self.has(SPLIT_PARENT):
            cost = pc.if_else(self.is_split(), self.split_cost(), cost)
        if self.second is None:
            return cost
        taken_from_parent = pc.negate(self.split_cost())
        of_second = pc.if_else(self.is_split(), taken_from_parent, self.unused_cost())
        return pc.if_else(self.second, of_second, cost)

    def _is_special(self) -> pa.Array:
        ordinary = self.are(line_types.USAGE, "Tax", "Credit", "Refund", *line_types.DISCOUNTS)
        return pc.or_(pc.invert(ordinary), self.is_split())

    def _is_amortized_purchase(self) -> pa.Array:
        """Purchases that cover later usage: FOCUS 1.2, EffectiveCost, gives them 0."""
        upfront = self.are(line_types.PLAN_UPFRONT, *line_types.RECURRING_FEES)
        if not self.has(RESERVATION):
            return upfront
        of_reservation = pc.is_valid(self.text(RESERVATION))
        return pc.or_(upfront, pc.and_(self.are(line_types.FEE), of_reservation))


_NARROW: Final = pa.decimal128(36, 18)
"""Holds every amount (they stay below 10^15), and leaves a digit for the sum."""


def _sum(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.add(left.cast(_NARROW), right.cast(_NARROW)).cast(MONEY)


def _difference(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.subtract(left.cast(_NARROW), right.cast(_NARROW)).cast(MONEY)
