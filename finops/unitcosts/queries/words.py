"""The summary, warnings and hint of an answer about unit cost."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

from finops.costs.answers import SpendTotal
from finops.costs.queries.spend_words import left_out_clause
from finops.exchange_rates.missing_rates import missing_rate_clause, without_rate
from finops.lib.formats.numbers import plural
from finops.lib.money import ratio
from finops.lib.sentences import dimension_text, join_first, join_with_and, money, percent_text, quote
from finops.lib.usage_problems import clause_warnings, clauses_text
from finops.unitcosts.answers import MATCHED, NO_COST, NO_USAGE, UnitCostRow, UnitCostTotal
from finops.unitcosts.queries.facts import Facts
from ingestion.models import UsageMetric
from ingestion.queries.usage_text import units_clause

NAMED_ROWS = 3
NAME_LENGTH = 60
DIGITS = 4

_ROUNDING = Context(prec=80, rounding=ROUND_HALF_EVEN)
_AGGREGATION = UsageMetric.Aggregation

MEANING = {
    _AGGREGATION.SUM.value: "",
    _AGGREGATION.AVERAGE_OF_DAYS.value: (
        "Usage is the average of days with usage, so this is the cost per unit for the whole period, "
        "not per day."
    ),
    _AGGREGATION.LAST.value: "Usage is the sum of each customer's last value in the period.",
    _AGGREGATION.MAX.value: "Usage is the sum of each customer's highest value in the period.",
}


def price(unit_cost: Decimal, currency: str) -> str:
    """Format a unit cost: two decimals, or four significant digits if that is more."""
    places = max(2, DIGITS - 1 - unit_cost.adjusted()) if unit_cost else 2
    rounded = unit_cost.quantize(Decimal(1).scaleb(-places), context=_ROUNDING)
    whole, _point, fraction = f"{rounded:,f}".partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')} {currency}"


def count(usage: Decimal) -> str:
    """Format a quantity: at most three decimals."""
    text = f"{usage.quantize(Decimal('0.001'), context=_ROUNDING):,f}"
    return text.rstrip("0").rstrip(".")


def summary_of(facts: Facts, totals: Sequence[UnitCostTotal], rows: Sequence[UnitCostRow]) -> str:
    """Return the summary: the cost of the usage, and the cost of one unit."""
    days, plan = facts.cost.days, facts.cost.facts.plan
    when = f"from {days.start} to {days.end}"
    if not totals:
        subject = "No cost lines match" if plan.filters or facts.query.customers else "No cost"
        why = f"so there is no unit cost of {quote(facts.metric, NAME_LENGTH)}"
        return f"{quote(facts.account.name)}: {subject} {when}, {why}{facts.cost.not_final}{_missing(facts)}{clauses_text(facts.usage_problems)}."
    costs = {total.currency: total.cost for total in totals}
    totals = [total for total in totals if total.currency not in without_rate(costs)] or totals
    text = join_with_and([_equation(facts, total) for total in totals]) + missing_rate_clause(costs)
    why = f" {totals[0].reason}" if totals[0].reason else ""
    meaning = MEANING.get(facts.usage.aggregation, "") if not totals[0].reason else ""
    cost = facts.cost.facts
    view = f"{cost.view.label}{left_out_clause(part for total in totals for part in total.left_out)}"
    caveats = (
        f"{facts.cost.not_final}{_division_clause(facts, totals)}{_missing(facts)}{clauses_text(facts.usage_problems)}{_days_clause(facts)}{facts.cost.comparison_clause}"
        f"{facts.cost.restatement}"
    )
    parts = [
        f"{quote(facts.account.name)} {when} ({view}{_filter_clause(facts)}): {text}{caveats}.{why}",
        meaning,
        _rows_text(rows, facts.query.units),
    ]
    return " ".join(part for part in parts if part)


def _missing(facts: Facts) -> str:
    """Return a clause on dimensions and filter values that no cost has, and on customers that the account does not
    have."""
    return facts.cost.missing + "".join(f"; {each}" for each in facts.unknown_customers)


def _division_clause(facts: Facts, totals: Sequence[UnitCostTotal]) -> str:
    """Return a clause on several units and currencies, which mix in a quotient, and on cost without a known customer,
    which is in the total only."""
    divided = [total for total in totals if total.unit_cost is not None]
    several = "; the cost of each currency is divided by all usage" if len(divided) > 1 else ""
    unmatched = [_share_of_cost(total) for total in totals if total.unmatched_cost]
    no_customer = f"; cost without a known customer: {join_with_and(unmatched)}" if unmatched else ""
    return f"{units_clause(facts.usage.units)}{several}{no_customer}"


def _share_of_cost(total: UnitCostTotal) -> str:
    """`54.00 USD (36.0 %)`: the cost without a known customer."""
    amount = total.unmatched_cost or Decimal(0)
    share = ratio(amount, total.cost)
    return f"{money(amount, total.currency)}{f' ({percent_text(share)})' if share is not None else ''}"


def _days_clause(facts: Facts) -> str:
    """Return a clause if cost and usage have data on different numbers of days: the quotient then mixes them."""
    cost, usage = facts.cost.days_with_data, facts.usage.days_with_data
    if not days_warning(cost, usage, facts.cost.days.days):
        return ""
    return f"; cost has data on {cost} and usage on {usage} of {facts.cost.days.days} days"


def _filter_clause(facts: Facts) -> str:
    """Return a clause on whether cost and usage have the same filters; in the first sentence, because the quotient
    misleads otherwise."""
    scope, metric = facts.scope, quote(facts.metric, NAME_LENGTH)
    customers = _customers_clause(facts.query.customers)
    both = join_with_and(
        [dimension_text(each.dimension.removeprefix("dimension:")) for each in scope.applied]
    )
    filtered = f"{customers}; usage filtered by {both}" if both else customers
    if not scope.unfiltered:
        return filtered
    dimensions = join_with_and([dimension_text(name) for name in scope.unfiltered])
    whole = f"{filtered}, not by {dimensions} as the cost is" if both else ""
    return whole or f"{customers}; only cost is filtered by {dimensions}; usage is all of {metric}"


def _customers_clause(customers: Sequence[str]) -> str:
    """Return a clause on the only customers whose cost and usage count."""
    if not customers:
        return ""
    noun = "customer" if len(customers) == 1 else "customers"
    return f"; only {noun} {join_first([quote(each, NAME_LENGTH) for each in customers], NAMED_ROWS)}"


def _equation(facts: Facts, total: UnitCostTotal) -> str:
    spent = money(total.cost, total.currency)
    unit = unit_of(facts, Decimal(2) if total.usage is None else total.usage)
    if total.unit_cost is None or total.usage is None:
        return f"{spent} of cost and no unit cost for {unit}"
    each = price(total.unit_cost, total.currency)
    return (
        f"{spent} ÷ {count(total.usage)} {unit} = {each} {for_units(facts.query.units)}{_change_text(total)}"
    )


def for_units(per: int) -> str:
    """Format the scale: `for each`, `for 1,000`."""
    return "for each" if per == 1 else f"for {per:,}"


def unit_of(facts: Facts, usage: Decimal) -> str:
    """Return the unit after a count of usage, in the sender's word if there is one."""
    return quote(plural(facts.usage.unit or facts.label or facts.metric, usage), NAME_LENGTH)


def _change_text(total: UnitCostTotal) -> str:
    change = total.change
    if change is None or change.change is None or change.previous_unit_cost is None:
        return ""
    before = price(change.previous_unit_cost, change.currency)
    now = change.current_unit_cost
    complete = f"{price(now, change.currency)} on complete days, " if now and now != total.unit_cost else ""
    if change.ratio is None or not change.change:
        return f" ({complete}{before} before)"
    word = "more" if change.change > 0 else "less"
    return f" ({complete}{percent_text(change.ratio.copy_abs())} {word} than the {before} before)"


def _rows_text(rows: Sequence[UnitCostRow], per: int) -> str:
    named = [
        f"{quote(row.name or row.customer_id or '', NAME_LENGTH)} {price(row.unit_cost, row.currency)}"
        for row in rows
        if row.status == MATCHED and row.unit_cost is not None
    ][:NAMED_ROWS]
    return f"Top customers by cost, {for_units(per)}: {join_with_and(named)}." if named else ""


def warnings_of(
    facts: Facts, spent: Sequence[SpendTotal], totals: Sequence[UnitCostTotal], rows: Sequence[UnitCostRow]
) -> list[str]:
    warnings = clause_warnings(facts.usage_problems)
    warnings += facts.notes
    warnings += _units(facts)
    warnings += days_warning(facts.cost.days_with_data, facts.usage.days_with_data, facts.cost.days.days)
    warnings += _currencies(totals) if facts.total_usage is not None else []
    warnings += [_unmatched_warning(facts, total) for total in totals if total.unmatched_cost]
    warnings += _one_sided_warnings(rows) if facts.total_usage is not None else []
    warnings += facts.cost.warnings(spent)
    return list(dict.fromkeys(warnings))


def _units(facts: Facts) -> list[str]:
    if len(facts.usage.units) < 2:
        return []
    names = join_with_and([quote(unit, 40) for unit in facts.usage.units[:5]])
    return [
        (
            f"Events of {facts.metric!r} have {len(facts.usage.units)} units ({names}), added without "
            "conversion."
        )
    ]


def days_warning(cost: int, usage: int, days: int) -> list[str]:
    """Return a warning if cost and usage have different days, with the number of `days` on which each has data."""
    if not usage or not cost or cost == usage:
        return []
    text = f"Of the {days} days cost has data on {cost} and usage on {usage}"
    return [f"{text}, so cost and usage cover different days. Use days that have both."]


def _currencies(totals: Sequence[UnitCostTotal]) -> list[str]:
    if len([total for total in totals if total.usage is not None]) < 2:
        return []
    return [
        ("Each currency's cost is divided by all usage: the cost of a unit is the sum of these unit costs.")
    ]


def _unmatched_warning(facts: Facts, total: UnitCostTotal) -> str:
    return (
        f"{_share_of_cost(total)} of cost has no known customer by "
        f"{dimension_text(facts.key)}. It is in the total but in no customer's unit cost."
    )


def _one_sided_warnings(rows: Sequence[UnitCostRow]) -> list[str]:
    counts = {status: len([row for row in rows if row.status == status]) for status in (NO_USAGE, NO_COST)}
    parts = []
    if counts[NO_USAGE]:
        parts.append(f"{counts[NO_USAGE]} with cost but no usage")
    if counts[NO_COST]:
        parts.append(f"{counts[NO_COST]} with usage but no cost")
    return [f"Unmatched customers: {join_with_and(parts)}."] if parts else []


def hint_of(facts: Facts, totals: Sequence[UnitCostTotal]) -> str:
    """Return a hint for the next question."""
    query = facts.query
    if facts.usage.total is None:
        return "Use querySpend for the cost, queryUsage for the usage."
    if not totals:
        return "Use a longer period or fewer filters. getAccountContext shows the days with cost data."
    if query.mode == "total" and not query.customers:
        return "Use mode per_customer for customers, granularity month for the trend."
    if query.granularity == "none":
        return "Use granularity month for the trend, customers with mode total for single customers."
    return "Use querySpend filtered by the customer key for one customer's cost."
