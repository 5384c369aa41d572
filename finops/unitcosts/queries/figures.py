"""Compute the totals and rows of an answer from cost and usage. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec.structs import replace

from finops.costs.answers import Change, SpendTotal
from finops.costs.coverage import Bucket
from finops.costs.queries.spend_answer import ENOUGH_DAYS
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.sentences import money, truncate
from finops.unitcosts.answers import (
    MATCHED,
    NO_COST,
    NO_CUSTOMER,
    NO_USAGE,
    UNKNOWN_CUSTOMER,
    UnitCostBucket,
    UnitCostChange,
    UnitCostRow,
    UnitCostTotal,
)
from finops.unitcosts.queries.customers import CustomerCost, join_by_customer
from finops.unitcosts.queries.division import NOT_USED, currency_of, divide_cost, per_million
from finops.unitcosts.queries.facts import Facts

NOTHING = Decimal(0)
NAME_LENGTH = 200
SHOWN_VALUES = 10

WHY = {
    NO_USAGE: "This customer has cost but no usage of the metric on these days.",
    NO_COST: "This customer has usage but no cost lines.",
    UNKNOWN_CUSTOMER: "No customer has this ID. Map the value to a customer with an alias.",
    NO_CUSTOMER: "These cost lines have no value of the customer key.",
}


def totals_of(facts: Facts, spent: Sequence[SpendTotal], rows: Sequence[CustomerCost]) -> list[UnitCostTotal]:
    """Return a total for each currency with cost; each is divided by the whole usage."""
    return [_total(facts, total, rows) for total in spent]


def _of_other_currency(facts: Facts, currency: str, usage: Decimal | None) -> str:
    """Return why usage that is money, such as revenue, does not apply to this cost; empty if it does."""
    earned = currency_of(facts.usage.unit)
    if earned in ("", currency) or usage is None:
        return ""
    return f"Usage is in {money(usage, earned)}; cost in {currency} is not divided by another currency."


def _total(facts: Facts, spent: SpendTotal, rows: Sequence[CustomerCost]) -> UnitCostTotal:
    other = _of_other_currency(facts, spent.currency, facts.total_usage)
    used = None if other else facts.total_usage
    unit_cost, reason = divide_cost(spent.amount, used, per=facts.query.units, unused=other or facts.unused)
    unmatched_costs = [row.cost for row in rows if row.currency == spent.currency and row.customer_id is None]
    return UnitCostTotal(
        cost=spent.amount,
        currency=spent.currency,
        usage=used,
        unit_cost=unit_cost,
        reason=reason,
        unit_cost_per_million=per_million(unit_cost, per=facts.query.units),
        unmatched_cost=exact_sum(unmatched_costs) if unmatched_costs else None,
        inside=[part for part in spent.inside if part.amount],
        left_out=spent.left_out,
        left_out_amount=spent.left_out_amount,
        change=_change(facts, spent.change),
        buckets=[_bucket(facts, spent, bucket) for bucket in facts.cost.buckets],
    )


def _bucket(facts: Facts, spent: SpendTotal, bucket: Bucket) -> UnitCostBucket:
    cost = spent.series.get(bucket.start.isoformat())
    usage = facts.usage.buckets.get(bucket.start)
    other = _of_other_currency(facts, spent.currency, usage)
    usage = None if other else usage
    unit_cost, reason = divide_cost(cost, usage, per=facts.query.units, unused=other or NOT_USED)
    return UnitCostBucket(
        start_date=bucket.start,
        cost=cost,
        currency=spent.currency,
        usage=usage,
        unit_cost=unit_cost,
        reason=reason,
    )


def _change(facts: Facts, spent: Change | None) -> UnitCostChange | None:
    """Return the change of the unit cost: now - before, and that ÷ |before|. Both sides must be whole periods, else
    None with the reason; a rule of this program."""
    if spent is None:
        return None
    now, earlier = facts.compared_usage, facts.earlier_usage
    per = facts.query.units
    other = _of_other_currency(facts, spent.currency, NOTHING)
    if other:
        now = earlier = None
    current, _reason = divide_cost(spent.current_amount, now.total if now else None, per=per)
    previous, reason = divide_cost(
        spent.previous_amount,
        earlier.total if earlier else None,
        per=per,
        unused="The previous period has no usage.",
    )
    reason = spent.reason if spent.change is None else reason
    reason = reason or _too_few_days(facts) or ("" if current is not None else "No unit cost in this period.")
    difference = (
        exact_difference(current, previous)
        if not reason and current is not None and previous is not None
        else None
    )
    share = (
        ratio(difference, previous.copy_abs()) if difference is not None and previous is not None else None
    )
    return UnitCostChange(
        current_unit_cost=current,
        previous_unit_cost=None if spent.change is None else previous,
        change=difference,
        ratio=share,
        previous_cost=spent.previous_amount,
        previous_usage=earlier.total if earlier else None,
        currency=spent.currency,
        days=facts.cost.comparison,
        reason=reason or ("" if share is not None else "The previous unit cost is 0."),
    )


def _too_few_days(facts: Facts) -> str:
    """Return why the earlier usage is incomplete: usually its first events are within these days."""
    compared, now, earlier = facts.cost.comparison, facts.compared_usage, facts.earlier_usage
    if compared is None or now is None or earlier is None:
        return ""
    days = (compared.end_date - compared.start_date).days + 1
    before = (compared.previous_end_date - compared.previous_start_date).days + 1
    if Decimal(earlier.days_with_data * days) >= ENOUGH_DAYS * now.days_with_data * before:
        return ""
    return (
        f"Not comparable: usage on {earlier.days_with_data} of {before} days of the previous period "
        f"and {now.days_with_data} of {days} of this one."
    )


def join_rows(facts: Facts, spent: Sequence[SpendTotal]) -> list[CustomerCost]:
    """Return every customer and unmatched value; an empty list in mode total."""
    if facts.customers is None or facts.query.mode != "per_customer":
        return []
    return join_by_customer(
        facts.cost.by_value(),
        facts.quantities,
        facts.customers,
        absent=facts.cost.absent,
        currencies=[total.currency for total in spent] or [NO_CURRENCY],
    )


def row_of(facts: Facts, row: CustomerCost) -> UnitCostRow:
    usage = row.usage.whole if row.usage else None
    other = _of_other_currency(facts, row.currency, usage)
    usage = None if other else usage
    why = " ".join(reason_part for reason_part in (WHY.get(row.status, ""), other) if reason_part)
    unit_cost, reason = divide_cost(row.cost, usage, per=facts.query.units, unused=why)
    if row.status == NO_COST:
        unit_cost, reason = None, why
    return UnitCostRow(
        customer_id=row.customer_id,
        name=truncate(row.name, NAME_LENGTH),
        status=row.status,
        direct_cost=exact_difference(row.cost, row.allocated),
        allocated_cost=row.allocated,
        cost=row.cost,
        currency=row.currency,
        usage=usage,
        unit_cost=unit_cost,
        reason=reason,
        unit_cost_per_million=per_million(unit_cost, per=facts.query.units),
        values=_shown_values(row),
    )


def _shown_values(row: CustomerCost) -> list[str]:
    """Return the values of the customer key that the row sums up; empty if only the id itself."""
    if row.values == [row.customer_id]:
        return []
    more = len(row.values) - SHOWN_VALUES
    return row.values if more <= 0 else [*row.values[:SHOWN_VALUES], f"… and {more} more"]


def with_series(
    facts: Facts, rows: Sequence[UnitCostRow], every: Sequence[CustomerCost]
) -> list[UnitCostRow]:
    """Return the rows; customers with cost and usage have their unit cost in each bucket."""
    rows_by_customer = {
        (row.customer_id, row.currency): row
        for row in every
        if row.status == MATCHED and not _of_other_currency(facts, row.currency, NOTHING)
    }
    return [_with_series(facts, row, rows_by_customer.get((row.customer_id, row.currency))) for row in rows]


def _with_series(facts: Facts, row: UnitCostRow, customer_cost: CustomerCost | None) -> UnitCostRow:
    if customer_cost is None:
        return row
    series = {
        bucket.start.isoformat(): _bucket_unit_cost(facts, customer_cost, bucket)
        for bucket in facts.cost.buckets
    }
    return replace(row, series=series)


def _bucket_unit_cost(facts: Facts, row: CustomerCost, bucket: Bucket) -> Decimal | None:
    if row.usage is None or not bucket.has_data:
        return None
    cost, usage = row.buckets.get(bucket.start, NOTHING), row.usage.buckets.get(bucket.start)
    return divide_cost(cost, usage, per=facts.query.units)[0]
