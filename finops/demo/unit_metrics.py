"""Saved unit metrics of the demo company."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.models import Account
from finops.costs.spend_query import CostFilter
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries import customer_key
from finops.unitcosts.services.unit_metrics import create_unit_metric
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.queries import metrics_of

PROD = CostFilter(dimension="tag:env", op="contains", values=["prod"])

PLANS = {
    "Cost per 1,000 requests": (
        "What serving a thousand API requests costs, production alone",
        UnitCostQuery(usage_metric="requests", per=1_000, filters=[PROD]),
    ),
    "Cost per document": (
        "Everything we pay, for each document that customers let us process",
        UnitCostQuery(usage_metric="documents_processed", splits="after"),
    ),
    "Cost per seat, by customer": (
        "Whose seats cost more than they bring",
        UnitCostQuery(usage_metric="seats", mode="per_customer", basis="amortized"),
    ),
    "Cloud cost as share of revenue": (
        "Dollars of cloud and AI for each dollar of revenue, before tax",
        UnitCostQuery(usage_metric="revenue", charge_categories=["Usage", "Purchase"]),
    ),
}


def ensure_unit_metrics(account: Account, actor: Actor) -> int:
    """Save those that are not there and whose usage metric is, in the account in scope; how many."""
    there = set(UnitMetric.objects.values_list("name", flat=True))
    metrics, key = {metric.name for metric in metrics_of(account)}, customer_key(account)
    missing = [
        (name, *plan)
        for name, plan in PLANS.items()
        if name not in there and plan[1].usage_metric in metrics and (key or not plan[1].by_customer)
    ]
    for name, description, question in missing:
        create_unit_metric(
            account=account, actor=actor, name=name, description=description, question=question
        )
    return len(missing)
