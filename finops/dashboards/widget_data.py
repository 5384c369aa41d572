"""What each type of widget shows: the answer to its question, as the template of the type draws it.

Each reader is as exact and costs as much as the query that it calls, and raises UserError as that does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finops.budgets.charts import bar_of
from finops.budgets.models import Budget
from finops.budgets.queries import budget_statuses, budgets_of
from finops.budgets.status_rules import EXCEEDED, OK, WARNING
from finops.costs.charts import series_tables
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.dashboards import widget_queries
from finops.dashboards.configs import (
    AnomaliesConfig,
    BudgetStatusConfig,
    CommitmentUtilizationConfig,
    CostTagBreakdownConfig,
    SavingsConfig,
    SpendByConfig,
    SpendOverTimeConfig,
    TableConfig,
    TextConfig,
    TopMoversConfig,
    TotalConfig,
    UnitCostConfig,
    UsageConfig,
)
from finops.dashboards.widget_context import WidgetContext
from finops.insights.charts import waterfalls
from finops.insights.commitments.queries import commitment_utilization as query_commitments
from finops.insights.queries import list_anomalies
from finops.insights.savings.queries import list_savings
from finops.insights.spend_change.queries import explain_spend_change
from finops.lib.errors import UserError
from finops.lib.sentences import quote
from finops.unitcosts.charts import trends
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.queries.cards import per_unit
from ingestion.charts import usage_table
from ingestion.queries import query_usage

WidgetData = Mapping[str, Any]
"""The context of the type's template. `params` are those of the page that asks the same."""

_WORST_FIRST = {EXCEEDED: 0, WARNING: 1, OK: 2}


def _spend(context: WidgetContext[Any], query: SpendQuery) -> dict[str, Any]:
    answer = query_spend(context.account, query, deadline=context.deadline)
    return {"answer": answer, "params": query.to_params()}


def spend_over_time(context: WidgetContext[SpendOverTimeConfig]) -> WidgetData:
    data = _spend(context, widget_queries.spend_over_time(context))
    return {**data, "tables": series_tables(data["answer"])}


def spend_by(context: WidgetContext[SpendByConfig]) -> WidgetData:
    return _spend(context, widget_queries.spend_by(context))


def total(context: WidgetContext[TotalConfig]) -> WidgetData:
    return _spend(context, widget_queries.total(context))


def table(context: WidgetContext[TableConfig]) -> WidgetData:
    return _spend(context, widget_queries.table(context))


def cost_tag_breakdown(context: WidgetContext[CostTagBreakdownConfig]) -> WidgetData:
    return _spend(context, widget_queries.cost_tag_breakdown(context))


def top_movers(context: WidgetContext[TopMoversConfig]) -> WidgetData:
    query = widget_queries.top_movers(context)
    answer = explain_spend_change(context.account, query, deadline=context.deadline)
    return {"answer": answer, "waterfalls": waterfalls(answer), "params": query.to_params()}


def unit_cost(context: WidgetContext[UnitCostConfig]) -> WidgetData:
    query = widget_queries.unit_cost(context)
    answer = query_unit_cost(context.account, query, deadline=context.deadline)
    return {
        "answer": answer,
        "trends": trends(answer, query.granularity, answer.unit or answer.usage_metric),
        "per_unit": per_unit(answer.per, answer.unit, answer.usage_metric),
        "params": query.to_params(),
    }


def budget_status(context: WidgetContext[BudgetStatusConfig]) -> WidgetData:
    """The worst first. Budgets that are gone are left out, and said."""
    config = context.config
    budgets = budgets_of(context.account)
    selected = [each for each in budgets if not config.budgets or each.pk in config.budgets]
    statuses = budget_statuses(context.account, selected, deadline=context.deadline) if selected else []
    statuses.sort(key=lambda each: (_WORST_FIRST[each.status], each.name.casefold()))
    return {
        "rows": [(each, bar_of(each)) for each in statuses[: config.top]],
        "more": max(0, len(statuses) - config.top),
        "gone": len(set(config.budgets) - {each.pk for each in budgets}),
    }


def anomalies(context: WidgetContext[AnomaliesConfig]) -> WidgetData:
    return {
        "answer": list_anomalies(context.account, widget_queries.anomalies(context)),
        "state": context.config.state,
    }


def savings(context: WidgetContext[SavingsConfig]) -> WidgetData:
    answer = list_savings(
        context.account, widget_queries.savings(context), deadline=context.deadline, evidence=0
    )
    return {"answer": answer}


def commitment_utilization(context: WidgetContext[CommitmentUtilizationConfig]) -> WidgetData:
    query = widget_queries.commitment_utilization(context)
    answer = query_commitments(context.account, query, deadline=context.deadline)
    return {"answer": answer, "params": query.to_params(), "by": query.by}


def usage(context: WidgetContext[UsageConfig]) -> WidgetData:
    query = widget_queries.usage(context)
    answer = query_usage(context.account, query, deadline=context.deadline)
    return {"answer": answer, "table": usage_table(answer), "params": query.to_params()}


def text(context: WidgetContext[TextConfig]) -> WidgetData:
    return {"text": context.config.text}


def check_budgets_exist(ids: list[int]) -> None:
    """Raises UserError for a budget that the account in scope does not have."""
    names_by_id = dict(Budget.objects.values_list("pk", "name"))
    missing_ids = [pk for pk in ids if pk not in names_by_id]
    if missing_ids:
        valid = (
            ", ".join(f"{pk} ({quote(name, 60)})" for pk, name in list(names_by_id.items())[:20]) or "none"
        )
        raise UserError(
            f"budgets: {missing_ids[0]} is not known. Valid: {valid}. listBudgets lists them.",
            field="budgets",
            value=missing_ids[0],
        )
