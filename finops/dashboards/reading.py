"""What each type of widget shows: the answer to its question, as the template of the type draws it.

Each reader is as exact and costs as much as the query that it calls, and raises UserError as that does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finops.budgets.charts import bar_of
from finops.budgets.judging import EXCEEDED, OK, WARNING
from finops.budgets.models import Budget
from finops.budgets.queries import budget_statuses, budgets_of
from finops.costs.charts import series_tables
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.dashboards import questions
from finops.dashboards.asked import Asked
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
from finops.insights.charts import waterfalls
from finops.insights.commitments.queries import commitment_utilization as query_commitments
from finops.insights.queries import list_anomalies
from finops.insights.savings.queries import list_savings
from finops.insights.spend_change.queries import explain_spend_change
from finops.lib.errors import UserError
from finops.lib.spoken import quoted
from finops.unitcosts.charts import trends
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.queries.cards import per_unit
from ingestion.charts import usage_table
from ingestion.queries import query_usage

Shown = Mapping[str, Any]
"""The context of the type's template. `params` are those of the page that asks the same."""

_WORST_FIRST = {EXCEEDED: 0, WARNING: 1, OK: 2}


def _spend(asked: Asked[Any], query: SpendQuery) -> dict[str, Any]:
    answer = query_spend(asked.account, query, deadline=asked.deadline)
    return {"answer": answer, "params": query.to_params()}


def spend_over_time(asked: Asked[SpendOverTimeConfig]) -> Shown:
    shown = _spend(asked, questions.spend_over_time(asked))
    return {**shown, "tables": series_tables(shown["answer"])}


def spend_by(asked: Asked[SpendByConfig]) -> Shown:
    return _spend(asked, questions.spend_by(asked))


def total(asked: Asked[TotalConfig]) -> Shown:
    return _spend(asked, questions.total(asked))


def table(asked: Asked[TableConfig]) -> Shown:
    return _spend(asked, questions.table(asked))


def cost_tag_breakdown(asked: Asked[CostTagBreakdownConfig]) -> Shown:
    return _spend(asked, questions.cost_tag_breakdown(asked))


def top_movers(asked: Asked[TopMoversConfig]) -> Shown:
    query = questions.top_movers(asked)
    answer = explain_spend_change(asked.account, query, deadline=asked.deadline)
    return {"answer": answer, "waterfalls": waterfalls(answer), "params": query.to_params()}


def unit_cost(asked: Asked[UnitCostConfig]) -> Shown:
    query = questions.unit_cost(asked)
    answer = query_unit_cost(asked.account, query, deadline=asked.deadline)
    return {
        "answer": answer,
        "trends": trends(answer, query.granularity, answer.unit or answer.usage_metric),
        "per_unit": per_unit(answer.per, answer.unit, answer.usage_metric),
        "params": query.to_params(),
    }


def budget_status(asked: Asked[BudgetStatusConfig]) -> Shown:
    """The worst first. Budgets that are gone are left out, and said."""
    config = asked.config
    budgets = budgets_of(asked.account)
    chosen = [each for each in budgets if not config.budgets or each.pk in config.budgets]
    statuses = budget_statuses(asked.account, chosen, deadline=asked.deadline) if chosen else []
    statuses.sort(key=lambda each: (_WORST_FIRST[each.status], each.name.casefold()))
    return {
        "rows": [(each, bar_of(each)) for each in statuses[: config.top]],
        "more": max(0, len(statuses) - config.top),
        "gone": len(set(config.budgets) - {each.pk for each in budgets}),
    }


def anomalies(asked: Asked[AnomaliesConfig]) -> Shown:
    return {"answer": list_anomalies(asked.account, questions.anomalies(asked)), "state": asked.config.state}


def savings(asked: Asked[SavingsConfig]) -> Shown:
    answer = list_savings(asked.account, questions.savings(asked), deadline=asked.deadline, evidence=0)
    return {"answer": answer}


def commitment_utilization(asked: Asked[CommitmentUtilizationConfig]) -> Shown:
    query = questions.commitment_utilization(asked)
    answer = query_commitments(asked.account, query, deadline=asked.deadline)
    return {"answer": answer, "params": query.to_params(), "by": query.by}


def usage(asked: Asked[UsageConfig]) -> Shown:
    query = questions.usage(asked)
    answer = query_usage(asked.account, query, deadline=asked.deadline)
    return {"answer": answer, "table": usage_table(answer), "params": query.to_params()}


def text(asked: Asked[TextConfig]) -> Shown:
    return {"text": asked.config.text}


def known_budgets(ids: list[int]) -> None:
    """Raises UserError for a budget that the account in scope does not have."""
    known = dict(Budget.objects.values_list("pk", "name"))
    missing = [pk for pk in ids if pk not in known]
    if missing:
        valid = ", ".join(f"{pk} ({quoted(name, 60)})" for pk, name in list(known.items())[:20]) or "none"
        raise UserError(
            f"budgets: {missing[0]} is not known. Valid: {valid}. listBudgets lists them.",
            field="budgets",
            value=missing[0],
        )
