"""Daily cost of many scopes in few lake queries: one for sources and the whole account, one for teams, one for each
cost tag. Budgets share groupings: fifty budgets need no more queries than their scopes have dimensions.

Sums are before splits: a budget counts the lines of its scope as the invoices do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, Final

import ibis
import pyarrow as pa
import pyarrow.compute as pc

from accounts.models import Account
from finops.budgets.models import Budget
from finops.costs.dictionary_encoding import dictionary_encoding_of, fold_case
from finops.costs.dimensions import ColumnExpression, Dimension, DimensionContext, registry
from finops.costs.filters import ResolvedFilter
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_lake import (
    COST_COLUMNS,
    NO_CURRENCY,
    ONE_TIME_FEES,
    end_of,
    is_counted,
    part_of,
)
from finops.exchange_rates.display import display_of
from finops.lake.engine import engine
from finops.lake.engine.conversion import Currencies, currency_scope, current_currencies, display_currency
from finops.lake.schema import Kind
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange

SOURCE: Final = "source"
TEAM: Final = "team"

ByDay = Mapping[date, Decimal]
ByCurrency = Mapping[str, ByDay]
"""Cost by currency and day; days without lines are left out."""


@dataclass(frozen=True)
class ScopeCosts:
    """The cost of a scope by day, or the error that prevents it."""

    costs: ByCurrency
    problem: str = ""
    ends: Mapping[int, ByCurrency] = field(default_factory=dict)
    """The same, by the index of the sources' last complete day in the coverage's `ends`; -1 without one."""
    one_time: Mapping[int, ByCurrency] = field(default_factory=dict)
    """The part of `ends` that is one-time charges; days without any are left out."""
    left_out: ByCurrency = field(default_factory=dict)
    """The cost of charge categories that the account's cost view does not count."""


@dataclass(frozen=True)
class CostRequest:
    """A request for the cost of a budget's scope on these days."""

    budget: Budget
    days: DateRange


def daily_costs(
    account: Account, requests: Sequence[CostRequest], sources: Sources, *, deadline: float | None = None
) -> dict[int, ScopeCosts]:
    """Return the daily cost of each budget's scope in the account's cost view, by the budget's id.

    A grouping is read once, over all the days that its budgets request, so a budget may get more days than it
    requested. A dimension that no longer exists is an error of that budget only; errors of the lake are raised. Cost:
    a lake query for each grouping; in PostgreSQL, the queries that resolve `team` and `cost_tag:<key>`.
    """
    context = sources.context(account)
    groups: dict[tuple[str, Currencies | None], list[CostRequest]] = defaultdict(list)
    in_currency = currencies_of_budgets(account)
    for each in requests:
        groups[grouping_of(each.budget), in_currency(each.budget.currency)].append(each)
    costs: dict[int, ScopeCosts] = {}
    for (grouping, currencies), members in groups.items():
        with currency_scope(currencies):
            costs |= _grouping_costs(context, grouping, members, sources, deadline)
    return costs


def currencies_of_budgets(account: Account) -> Callable[[str], Currencies | None]:
    """Return the currencies of a budget's cost. With a display currency, lines are converted to the budget's
    currency; otherwise only lines in its currency count."""
    target, currencies = display_currency(), current_currencies()
    if not target:
        return lambda _currency: None
    return cache(
        lambda currency: currencies if currency == target else display_of(account, currency).currencies
    )


def grouping_of(budget: Budget) -> str:
    """Return the dimension that selects the budget's lines. A whole account uses sources, all together."""
    if budget.cost_tag is not None:
        return f"cost_tag:{budget.cost_tag.key}"
    return TEAM if budget.team is not None else SOURCE


def _grouping_costs(
    context: DimensionContext,
    grouping: str,
    members: Sequence[CostRequest],
    sources: Sources,
    deadline: float | None,
) -> dict[int, ScopeCosts]:
    try:
        dimension = (
            Dimension(name=SOURCE, title="Source", value=ColumnExpression(SOURCE))
            if grouping == SOURCE
            else registry.resolve(context, grouping, field="scope")
        )
    except UserError as error:
        return {each.budget.pk: ScopeCosts({}, error.message) for each in members}
    days = DateRange(min(each.days.start for each in members), max(each.days.end for each in members))
    build = _DailyBuild(
        dimension,
        _values(members),
        sources.view.basis,
        tuple(sources.view.charge_categories),
        sources.coverage.ends,
    )
    table = engine.run(
        context.account,
        Kind.COST,
        days.start,
        days.end,
        build,
        tag_keys=dimension.tag_keys,
        allow_rollups=True,
        manifest=sources.manifest,
        deadline=deadline,
    )
    sums, one_time, left_out = (_read(table, dimension, name) for name in ("amount", "one_time", "left_out"))
    return {each.budget.pk: _costs_of(each.budget, sums, one_time, left_out) for each in members}


def _values(members: Iterable[CostRequest]) -> tuple[str, ...]:
    """Return the values to distinguish, sorted, so that equal questions are equal. Empty: all values."""
    budgets = [each.budget for each in members]
    if any(budget.scope == Budget.Scope.ACCOUNT for budget in budgets):
        return ()
    return tuple(sorted({value_of(budget) for budget in budgets}))


def value_of(budget: Budget) -> str:
    """Return the value of the grouping that the budget's lines have, in lower case."""
    if budget.cost_source_id is not None:
        return str(budget.cost_source_id)
    return fold_case(budget.team.name if budget.team is not None else budget.cost_tag_value)


@dataclass(frozen=True)
class _DailyBuild:
    """Sums by value, currency and day, of charge categories that count and of others. Equal for equal questions, so that
    the lake compiles each once.

    Values with an encoding (`dictionary_encoding_of`) are numbers, read for every line because a filter costs more
    than it saves. Others are as written: lower-casing a few groups is cheaper than every line.
    """

    dimension: Dimension
    values: tuple[str, ...]
    basis: str
    categories: tuple[str, ...]
    ends: tuple[tuple[date, tuple[int, ...]], ...] = ()

    def __call__(self, table: Any) -> Any:
        lines = table
        numbers = dictionary_encoding_of(self.dimension.value)
        if self.values and numbers is None:
            value_filter = ResolvedFilter(
                self.dimension, "in", values=self.values, matching_values=self.values
            )
            lines = lines.filter(value_filter.condition(lines))
        cost = lines[COST_COLUMNS[self.basis]]
        nothing = ibis.null(cost.type())
        counts = is_counted(lines, self.categories)
        amount = ibis.ifelse(counts, cost, nothing) if self.categories else cost
        rows = lines.select(
            "currency",
            key=numbers.number(lines) if numbers else self.dimension.value(lines),
            day=lines.charge_date,
            amount=amount,
            one_time=ibis.ifelse(part_of(lines, cost) == ONE_TIME_FEES, amount, nothing),
            left_out=ibis.ifelse(counts, nothing, cost),
            end=end_of(lines, self.ends) if self.ends else ibis.literal(-1),
        )
        return rows.group_by(["key", "currency", "day", "end"]).aggregate(
            amount=rows.amount.sum(), one_time=rows.one_time.sum(), left_out=rows.left_out.sum()
        )


Sums = Mapping[str, Mapping[int, ByCurrency]]
"""Cost by value, index of the last complete day, currency and day."""


def _read(table: pa.Table, dimension: Dimension, measure: str) -> Sums:
    """Return the sums of a measure; rows without it are left out."""
    table = table.filter(pc.field(measure).is_valid())
    numbers = dictionary_encoding_of(dimension.value)
    names: dict[Any, str] = {}
    for key in table["key"].unique().to_pylist():
        text = numbers.text_at(key) if numbers else key
        names[key] = fold_case(dimension.absent if text is None else text)
    sums: dict[str, dict[int, dict[str, dict[date, Decimal]]]] = {}
    columns = (table[name].to_pylist() for name in ("key", "currency", "day", "end", measure))
    for value, currency, day, end, amount in zip(*columns, strict=True):
        days = sums.setdefault(names[value], {}).setdefault(end, {}).setdefault(currency or NO_CURRENCY, {})
        days[day] = exact_sum([days.get(day, Decimal(0)), amount])
    return sums


def _costs_of(budget: Budget, sums: Sums, one_time: Sums, left_out: Sums) -> ScopeCosts:
    by_end = _by_end(budget, sums)
    return ScopeCosts(
        _sum_parts(by_end.values()) if len(by_end) != 1 else next(iter(by_end.values())),
        ends=by_end,
        one_time=_by_end(budget, one_time),
        left_out=_sum_parts(_by_end(budget, left_out).values()),
    )


def _by_end(budget: Budget, sums: Sums) -> Mapping[int, ByCurrency]:
    if budget.scope != Budget.Scope.ACCOUNT:
        return sums.get(value_of(budget), {})
    ends = {end for by_end in sums.values() for end in by_end}
    return {end: _sum_parts(by_end.get(end, {}) for by_end in sums.values()) for end in ends}


def _sum_parts(parts: Iterable[ByCurrency]) -> ByCurrency:
    days: dict[str, dict[date, list[Decimal]]] = defaultdict(lambda: defaultdict(list))
    for part in parts:
        for currency, amounts in part.items():
            for day, amount in amounts.items():
                days[currency][day].append(amount)
    return {
        currency: {day: exact_sum(amounts) for day, amounts in by_day.items()}
        for currency, by_day in days.items()
    }


def sum_of_days(costs: ByDay, days: DateRange) -> Decimal:
    """Return the exact sum of these days."""
    return exact_sum(amount for day, amount in costs.items() if days.start <= day <= days.end)
