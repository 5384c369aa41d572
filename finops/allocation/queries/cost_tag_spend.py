"""The cost of a cost tag: by its values before and after shared-cost splits, and by one more dimension."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
from operator import and_
from typing import Any

from msgspec.structs import replace

from accounts.models import Account
from finops.allocation.cost_tags.expression import CostTagValue
from finops.allocation.cost_tags.schemas import CostTagAnswer, CostTagQuery, CostTagTotal, CostTagValueCost
from finops.allocation.models import CostTag, SharedCostSplit
from finops.allocation.queries.cost_tag_coverage import is_caught_by_rules
from finops.costs.answers import AccountRef, AppliedPeriod, SpendAnswer
from finops.costs.dimensions import UNTAGGED, Dimension
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries import query_spend
from finops.costs.queries.cost_sums import CostSums, read_costs
from finops.costs.queries.cost_view import apply_overrides, cost_view
from finops.costs.queries.spend import query_days
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.costs.queries.spend_words import left_out_clause
from finops.costs.spend_query import Filter, SpendQuery
from finops.exchange_rates.missing_rates import missing_rate_clause, without_rate
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.money import currencies_by_amount, exact_difference, exact_sum, ratio
from finops.lib.sentences import join_with_and, largest_parts, money, percent_text, quote, truncate

OTHER = "other"
NAMED = 3

MUCH = Decimal("0.2")
"""The share of untagged cost above which the answer recommends to investigate."""

ZERO = Decimal(0)

Key = tuple[str, str]
"""Currency and value."""

Amounts = Mapping[Key, Decimal]


def query_cost_tag(account: Account, query: CostTagQuery, *, deadline: float | None = None) -> CostTagAnswer:
    """Return the cost of a cost tag's values, exact, in the account's cost view unless the query overrides it.

    Raises UserError as `query_spend` does. Cost: one lake query, three with `values`; the same number again after
    splits when the account has splits, and for `by`; one more for a cost tag with a default value.
    """
    key = query.cost_tag.strip() or _first_key(account)
    if not key:
        return _no_cost_tags(account, query)
    spend_query = _spend_query(key, query)
    before = read_costs(account, spend_query, deadline=deadline)
    after = before
    if SharedCostSplit.objects.filter(account=account).exists():
        after = read_costs(account, replace(spend_query, splits="after"), deadline=deadline)
    by = _spend_by(account, query, spend_query, deadline)
    direct = _amounts(before)
    default = _default(before)
    values = _values(direct, _amounts(after), query.limit, default)
    totals = _totals(direct, _uncaught_cost(before, direct, deadline) if default else None)
    warnings = [
        *before.warnings(before.totals()),
        *after.warnings(after.totals()),
        *(by.warnings if by else []),
    ]
    return CostTagAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, before, totals, values, selected=bool(query.values)),
        cost_tag=before.facts.plan.dimensions[0].name.removeprefix("cost_tag:"),
        view=before.facts.view,
        period=before.period,
        totals=totals,
        values=values,
        rows=list(by.rows) if by else [],
        rows_splits=query.splits if by else "",
        applied_splits=after.facts.split_result.applied_splits,
        data_through=before.facts.sources.coverage.complete_through,
        truncated=_truncation_note(values, by),
        warnings=list(dict.fromkeys(warnings)),
        hint=_hint(query, totals, default),
    )


def _default(costs: CostSums) -> str:
    """The value of lines that no rule matches; empty without a default."""
    value = costs.facts.plan.dimensions[0].value
    return value.default if isinstance(value, CostTagValue) else ""


@dataclass(frozen=True)
class _CatchBuild:
    """The cost per currency that any rule of the cost tag matches, of the requested lines."""

    dimension: Dimension
    filters: tuple[ResolvedFilter, ...]
    basis: str
    categories: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(
            reduce(and_, [is_counted(table, self.categories), *all_of(table, list(self.filters))])
        )
        amount = lines[COST_COLUMNS[self.basis]]
        return lines.group_by(currency=lines.currency.coalesce(NO_CURRENCY)).aggregate(
            caught=amount.sum(where=is_caught_by_rules(self.dimension, lines))
        )


def _uncaught_cost(costs: CostSums, before: Amounts, deadline: float | None) -> dict[str, Decimal]:
    """The cost per currency that no rule matches, with or without a default value. Cost: one lake query."""
    plan = costs.facts.plan
    table = engine.run(
        costs.facts.account,
        Kind.COST,
        plan.days.start,
        plan.days.end,
        _CatchBuild(plan.dimensions[0], plan.filters, plan.basis, plan.categories),
        tag_keys=plan.tag_keys,
        allow_rollups=True,
        manifest=costs.facts.sources.manifest,
        deadline=deadline,
    )
    caught = {row["currency"]: row["caught"] or ZERO for row in table.to_pylist()}
    return {
        currency: exact_difference(
            _sum(before, [key for key in before if key[0] == currency]), caught.get(currency, ZERO)
        )
        for currency in {currency for currency, _ in before}
    }


def _first_key(account: Account) -> str:
    return CostTag.objects.filter(account=account).values_list("key", flat=True).first() or ""


def _no_cost_tags(account: Account, query: CostTagQuery) -> CostTagAnswer:
    """Return the answer to a question without a cost tag key in an account that has no cost tags."""
    days = query_days(account, SpendQuery(**_days(query)))
    return CostTagAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"{quote(account.name)} has no cost tags.",
        cost_tag="",
        view=apply_overrides(cost_view(account), basis=query.basis, charge_categories=()),
        period=AppliedPeriod(
            start_date=days.start, end_date=days.end, days=days.days, name=query.period or "", unfinished=True
        ),
        totals=[],
        values=[],
        rows=[],
        rows_splits="",
        applied_splits=[],
        data_through=None,
        truncated="",
        warnings=[],
        hint=(
            "Members create cost tags on the Cost tags page. For provider tags use querySpend by tag:<key>."
        ),
    )


def _days(query: CostTagQuery) -> dict[str, Any]:
    return {"start_date": query.start_date, "end_date": query.end_date, "period": query.period}


def _spend_query(key: str, query: CostTagQuery) -> SpendQuery:
    dimension = f"cost_tag:{key.removeprefix('cost_tag:')}"
    return SpendQuery(
        **_days(query),
        basis=query.basis,
        group_by=[dimension],
        filters=[Filter(dimension=dimension, values=query.values)] if query.values else [],
        limit=query.limit,
    )


def _spend_by(
    account: Account, query: CostTagQuery, spend_query: SpendQuery, deadline: float | None
) -> SpendAnswer | None:
    if not query.by:
        return None
    both = replace(spend_query, group_by=[*spend_query.group_by, query.by], splits=query.splits)
    return query_spend(account, both, deadline=deadline)


def _amounts(costs: CostSums) -> Amounts:
    return {(each.currency, each.value): each.amount for each in costs.by_value()}


def _values(before: Amounts, after: Amounts, limit: int, default: str) -> list[CostTagValueCost]:
    """Return, per currency, the values with the most cost before or after splits, and one row for the rest."""
    keys = list(dict.fromkeys([*before, *after]))
    rows: list[CostTagValueCost] = []
    for currency in _currencies(before, keys):
        own_keys = [key for key in keys if key[0] == currency]
        own_keys.sort(key=lambda key: (_size(before, after, key).copy_negate(), key))
        total = _sum(before, own_keys)
        rows += [
            _row(before, after, [key], total, name=key[1], default=bool(default) and key[1] == default)
            for key in own_keys[:limit]
        ]
        if own_keys[limit:]:
            rows.append(_row(before, after, own_keys[limit:], total, name=""))
    return rows


def _size(before: Amounts, after: Amounts, key: Key) -> Decimal:
    return max(before.get(key, ZERO).copy_abs(), after.get(key, ZERO).copy_abs())


def _sum(amounts: Amounts, keys: Sequence[Key]) -> Decimal:
    return exact_sum(amounts.get(key, ZERO) for key in keys)


def _row(
    before: Amounts, after: Amounts, keys: Sequence[Key], total: Decimal, *, name: str, default: bool = False
) -> CostTagValueCost:
    """Return the row of one value, or of the total of several values when `name` is empty."""
    amount = _sum(before, keys)
    return CostTagValueCost(
        value=name or OTHER,
        amount=amount,
        after_splits=_sum(after, keys),
        currency=keys[0][0],
        share=ratio(amount, total),
        other_values=0 if name else len(keys),
        is_default=default,
    )


def _currencies(before: Amounts, keys: Sequence[Key]) -> list[str]:
    names = {currency for currency, _ in keys}
    return currencies_by_amount(
        {name: _sum(before, [key for key in keys if key[0] == name]) for name in names}
    )


def _totals(before: Amounts, uncaught: Mapping[str, Decimal] | None) -> list[CostTagTotal]:
    totals = []
    for currency in _currencies(before, list(before)):
        amount = exact_sum(part for (name, _), part in before.items() if name == currency)
        untagged = before.get((currency, UNTAGGED), ZERO) if uncaught is None else uncaught[currency]
        totals.append(
            CostTagTotal(
                amount=amount, untagged=untagged, untagged_share=ratio(untagged, amount), currency=currency
            )
        )
    return totals


def _summary(
    account: Account,
    costs: CostSums,
    totals: Sequence[CostTagTotal],
    values: Sequence[CostTagValueCost],
    *,
    selected: bool,
) -> str:
    when = f"from {costs.period.start_date} to {costs.period.end_date}"
    name = quote(costs.facts.plan.dimensions[0].name)
    if not totals:
        return f"{quote(account.name)} has no cost by {name} {when}{costs.not_final}."
    sums = {total.currency: total.amount for total in totals}
    converted = [total for total in totals if total.currency not in without_rate(sums)] or totals
    amounts = join_with_and([_total_text(total) for total in converted])
    within = f" on the requested values of {name}" if selected else ""
    caveats = f"{missing_rate_clause(sums)}{costs.not_final}{costs.facts.findings.clause}{costs.restatement}"
    left_out = left_out_clause(part for total in costs.totals() for part in total.left_out)
    return f"{quote(account.name)} spent {amounts}{within} {when} ({costs.facts.view.label}{left_out}){caveats}; by {name}{_largest(converted, values)}."


def _total_text(total: CostTagTotal) -> str:
    share = f" ({percent_text(total.untagged_share)} of it untagged)" if total.untagged_share else ""
    return f"{money(total.amount, total.currency)}{share}"


def _largest(totals: Sequence[CostTagTotal], values: Sequence[CostTagValueCost]) -> str:
    if len(totals) != 1:
        return " the values of each currency follow"
    write = partial(money, currency=totals[0].currency)
    parts = [
        (truncate(each.value, 80), each.amount, each.share)
        for each in values
        if not each.other_values and each.value != UNTAGGED and not each.is_default
    ]
    return f" {largest_parts(parts, NAMED, write, most='most is ')}" if parts else " all untagged"


def _truncation_note(values: Sequence[CostTagValueCost], by: SpendAnswer | None) -> str:
    more = sum(value.other_values for value in values)
    notes = [f"{more} values are in other. Raise limit, or list values."] if more else []
    return " ".join([*notes, *([by.truncated] if by and by.truncated else [])])


def _hint(query: CostTagQuery, totals: Sequence[CostTagTotal], default: str) -> str:
    if any(total.untagged_share and total.untagged_share > MUCH for total in totals) and not query.values:
        value = json.dumps(default or UNTAGGED, ensure_ascii=False)
        return f'Add "group_by": ["service"] and "values": [{value}] to see cost that matches no rule.'
    if not query.by:
        return "Add group_by, such as account, team or product, to break down each value."
    return "For a trend use querySpend with granularity and group_by cost_tag:<key>."
