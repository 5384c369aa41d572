"""Tools for what-if simulations: real cost lines with other prices, usage or commitments."""

from __future__ import annotations

from msgspec.structs import replace

from finops.insights.purchase_plans.queries import plan_purchase
from finops.insights.purchase_plans.schemas import PurchasePlanAnswer, PurchasePlanQuery
from finops.insights.simulation.page_query import page_params
from finops.insights.simulation.queries import simulate_cost
from finops.insights.simulation.schemas import SimulationAnswer, SimulationQuery
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool


@tool(
    name="simulateCost",
    title="Simulate cost",
    access=ToolAccess.READ,
    description="""
        What if: cost lines of a period under usage growth, commitments bought or ended, other prices, regions, AI models or
        token mixes.
    """,
    examples=[
        {"growth": [{"percent": 10}]},
        {"period": "last_month", "commitments": "end"},
        {"purchases": [{"per_hour": 1.5, "discount_percent": 27, "currency": "USD"}]},
    ],
)
def simulate(call: ToolCall, arguments: SimulationQuery) -> SimulationAnswer:
    answer = simulate_cost(call.account, arguments, deadline=call.deadline)
    return replace(answer, console_url=call.console_url("simulation/", page_params(arguments)))


@tool(
    name="planCommitmentPurchase",
    title="Plan a commitment purchase",
    access=ToolAccess.READ,
    description="""
        Recommended hourly commitment, its break-even and risk, back-tested over the last 12 months against
        no purchase and AWS's rule.
    """,
    examples=[{"discount_percent": 27}],
)
def plan(call: ToolCall, arguments: PurchasePlanQuery) -> PurchasePlanAnswer:
    answer = plan_purchase(call.account, arguments, deadline=call.deadline)
    return replace(answer, console_url=call.console_url("commitments/purchase/", arguments.to_params()))
