"""Cost simulation and Commitment purchase: the questions of `simulateCost` and `planCommitmentPurchase` as pages and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.costs.queries.sources import load_sources
from finops.costs.views.query_page import CostQueryPage
from finops.insights.purchase_plans.queries import plan_purchase
from finops.insights.purchase_plans.schemas import (
    PlanMonth,
    PurchasePlan,
    PurchasePlanAnswer,
    PurchasePlanQuery,
    WindowAdvice,
)
from finops.insights.purchase_plans.text import lead
from finops.insights.simulation.page_query import SimulationPageQuery
from finops.insights.simulation.queries import simulate_cost
from finops.insights.simulation.schemas import SimulationAnswer
from finops.lib.listing import CsvTable, csv_response
from finops.lib.params import as_arguments
from ingestion.queries import metrics_of

EFFECTS: Final = ("kind", "name", "currency", "amount")
MONTHS: Final = (
    *("provider", "currency", "month", "on demand", "commitment per hour", "saving", "utilization"),
    *("saving by the AWS rule of 7 days", "of 30 days", "of 60 days"),
)


class SimulationPage(CostQueryPage[SimulationPageQuery, SimulationAnswer]):
    """The question of the page Cost simulation."""

    template = "insights/simulation.html"
    result_template = "insights/_simulation_result.html"
    first_query = SimulationPageQuery(period="last_30_days")
    own_choices = {"keeps": [("keep", "Stay"), ("end", "All end")]}

    def answer(self, query: SimulationPageQuery) -> SimulationAnswer:
        return simulate_cost(self.request.account, query.simulation())

    def result(self, query: SimulationPageQuery, answer: SimulationAnswer) -> dict[str, Any]:
        return {
            "mcp_arguments": as_arguments(query.simulation()),
            "is_simulated": bool(answer.effects or answer.left_out or answer.purchases),
            "has_cost": bool(answer.totals or load_sources(self.request.account).coverage.complete_through),
        }

    def choices(self, query: SimulationPageQuery) -> dict[str, Any]:
        metrics = [(each.name, str(each)) for each in metrics_of(self.request.account)]
        return super().choices(query) | {"metrics": metrics}

    def csv(self, query: SimulationPageQuery) -> HttpResponseBase:
        answer = self.answer(query)
        rows: list[list[Any]] = [["note", answer.summary, "", ""]]
        for total in answer.totals:
            effects = [each for each in answer.effects if each.currency == total.currency]
            rows.append(["baseline", "", total.currency, total.baseline])
            rows += [["effect", each.assumption, each.currency, each.change] for each in effects]
            rows.append(["simulated", "", total.currency, total.simulated])
        rows += [["left out", each.reason, each.currency, each.cost] for each in answer.left_out]
        rows += [["assumption", each, "", ""] for each in answer.assumptions]
        return csv_response("cost-simulation", EFFECTS, rows)


class PurchasePlanPage(CostQueryPage[PurchasePlanQuery, PurchasePlanAnswer]):
    """The question of the page Commitment purchase."""

    template = "insights/purchase_plan.html"
    result_template = "insights/_purchase_plan_result.html"
    first_query = PurchasePlanQuery()
    default_period = None

    def answer(self, query: PurchasePlanQuery) -> PurchasePlanAnswer:
        return plan_purchase(self.request.account, query)

    def result(self, query: PurchasePlanQuery, answer: PurchasePlanAnswer) -> Mapping[str, Any]:
        return {
            "lead": lead(answer.summary, answer.warnings),
            "plans": [PlanOnPage(plan) for plan in answer.plans],
        }

    def csv(self, query: PurchasePlanQuery) -> HttpResponseBase:
        answer = self.answer(query)
        rows = [
            [
                *(
                    plan.provider,
                    plan.currency,
                    month.month,
                    month.on_demand,
                    month.per_hour,
                    month.saving,
                    month.utilization,
                ),
                *month.vendor_savings,
            ]
            for plan in answer.plans
            for month in plan.months
        ]
        return CsvTable("commitment-purchase", MONTHS, rows, answer.summary, MONTHS[-1]).response()


@dataclass(frozen=True)
class PlanOnPage:
    """A plan as the page shows it: months with a saving beside each sum, because a rule needs fewer days before a month."""

    plan: PurchasePlan

    @property
    def saving_months(self) -> int:
        return sum(month.saving is not None for month in self.plan.months)

    @property
    def rules(self) -> list[tuple[WindowAdvice, int]]:
        """AWS's rules, each with the number of its months with a saving."""
        savings = [month.vendor_savings for month in self.plan.months]
        return [
            (rule, sum(each[place] is not None for each in savings))
            for place, rule in enumerate(self.plan.vendor)
        ]

    @property
    def months(self) -> list[tuple[PlanMonth, list[tuple[WindowAdvice, Decimal | None]]]]:
        """Months with the saving of each of AWS's rules."""
        return [
            (month, list(zip(self.plan.vendor, month.vendor_savings, strict=True)))
            for month in self.plan.months
        ]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return SimulationPage(request).response()


@account_page()
@require_safe
def purchase_plan(request: AccountRequest) -> HttpResponseBase:
    return PurchasePlanPage(request).response()
