"""Unit cost: the one function behind the page Unit economics and the tool queryUnitCost."""

from __future__ import annotations

from msgspec.structs import replace

from accounts.models import Account
from finops.lib.answers import AccountRef
from finops.lib.sentences import truncate
from finops.unitcosts.answers import UnitCostAnswer
from finops.unitcosts.queries.division import order_rows, with_shares
from finops.unitcosts.queries.facts import SharedReads, read_facts
from finops.unitcosts.queries.figures import join_rows, row_of, totals_of, with_series
from finops.unitcosts.queries.fold import fold_rows, truncation_note
from finops.unitcosts.queries.unit_metrics import resolve_unit_metric
from finops.unitcosts.queries.words import hint_of, summary_of, warnings_of
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.models import UsageMetric

MAX_UNIT = 100
"""The maximum of characters of a unit on pages: a sender may push any text."""


def query_unit_cost(
    account: Account,
    query: UnitCostQuery,
    *,
    deadline: float | None = None,
    metrics: list[UsageMetric] | None = None,
    shared: SharedReads | None = None,
) -> UnitCostAnswer:
    """Return cost divided by a usage metric, in total or for each customer, in the account's cost view unless
    overridden.

    Cost and usage are exact; each currency's cost is divided by the whole usage, and never added to another's. A unit
    cost is None with its reason without usage to divide by. Per customer the rows' costs of a currency add up to its
    total, with unmatched values as rows of their own. The account must be in scope. `metrics`: those of `metrics_of`,
    if already read; `shared`: data that several questions share.

    A saved unit metric supplies the fields that the question omits; the answer lists the given fields that differ.

    Raises UserError for errors that the caller can correct: a misspelt metric, no customer key, an unknown customer,
    and what `query_spend` refuses. A filter of cost applies to usage too if usage has its dimension (`usage_scope`);
    if not, the answer says that the usage is not filtered. Cost: two lake queries; filters add one to three, a
    comparison one or two, splits what `read_sums_of` says. PostgreSQL: two for names, one for a unit metric, three
    more with a customer key, those of `query_spend`, and one for each lake query.
    """
    resolved = resolve_unit_metric(account, query, shared.unit_metrics if shared else None)
    answer = with_shares(_answer(account, resolved.query, deadline, metrics, shared))
    if not resolved.name:
        return answer
    return replace(
        answer,
        unit_metric=resolved.name,
        summary=f"{resolved.name}: {answer.summary}",
        warnings=[*resolved.notes, *answer.warnings],
    )


def _answer(
    account: Account,
    query: UnitCostQuery,
    deadline: float | None,
    metrics: list[UsageMetric] | None,
    shared: SharedReads | None,
) -> UnitCostAnswer:
    facts = read_facts(account, query, deadline, metrics, shared)
    spent = sorted(facts.cost.totals(), key=lambda total: total.amount.copy_abs().copy_negate())
    every = join_rows(facts, spent)
    totals = totals_of(facts, spent, every)
    all_rows = order_rows([row_of(facts, row) for row in every], query.order_by, facts.usage.unit)
    rows = with_series(facts, fold_rows(all_rows, query.limit, query.units), every)
    return UnitCostAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=summary_of(facts, totals, rows),
        unit_metric="",
        usage_metric=facts.metric,
        aggregation=facts.usage.aggregation,
        unit=truncate(facts.usage.unit, MAX_UNIT) if facts.usage.unit else None,
        per=query.units,
        customer_key=facts.key,
        view=facts.cost.facts.view,
        period=facts.cost.period,
        totals=totals,
        rows=rows,
        resolved_filters=facts.cost.facts.findings.used,
        cost_days=facts.cost.days_with_data,
        usage_days=facts.usage.days_with_data,
        data_through=facts.cost.facts.sources.coverage.complete_through,
        truncated=truncation_note(rows, query.limit),
        warnings=warnings_of(facts, spent, totals, all_rows),
        hint=hint_of(facts, totals),
        applied_splits=facts.cost.facts.split_result.applied_splits,
        usage_filters_applied=list(facts.scope.applied),
        unfiltered_dimensions=list(facts.scope.unfiltered),
    )
