"""Unit cost of the demo company: the key that joins cost and usage, and saved unit metrics."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.models import Account
from finops.costs.spend_query import CostFilter
from finops.demo.company import CUSTOMER_MISSPELT
from finops.lake import queries as lake_queries
from finops.unitcosts.models import CustomerAlias, CustomerKey, UnitMetric
from finops.unitcosts.queries import customer_key
from finops.unitcosts.services.customer_mappings import add_customer_alias, set_customer_key
from finops.unitcosts.services.unit_metrics import create_unit_metric
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.queries import metrics_of

CUSTOMER_TAG = "customer"
PROD = CostFilter(dimension="tag:env", op="contains", values=["prod"])

PLANS = {
    "Cost per 1,000 requests": (
        "Production cost per thousand API requests",
        UnitCostQuery(usage_metric="requests", per=1_000, filters=[PROD]),
    ),
    "Cost per document": (
        "Total cost per processed document",
        UnitCostQuery(usage_metric="documents_processed", splits="after"),
    ),
    "Cost per seat, by customer": (
        "Cost per seat by customer",
        UnitCostQuery(usage_metric="seats", mode="per_customer", basis="amortized"),
    ),
    "Cloud cost as share of revenue": (
        "Cloud and AI cost divided by revenue, before tax",
        UnitCostQuery(usage_metric="revenue", charge_categories=["Usage", "Purchase"]),
    ),
}


def ensure_customer_key(account: Account, actor: Actor) -> None:
    """Join cost and usage by the customer tag, in the account in scope; one misspelt customer is mapped, the others are left
    for a person to map."""
    if CustomerKey.objects.exists() or CUSTOMER_TAG not in lake_queries.tag_keys(account):
        return
    set_customer_key(account=account, actor=actor, dimension=f"tag:{CUSTOMER_TAG}")
    if not CustomerAlias.objects.exists():
        customer_id, value = next(iter(CUSTOMER_MISSPELT.items()))
        add_customer_alias(account=account, actor=actor, value=value, customer_id=customer_id)


def ensure_unit_metrics(account: Account, actor: Actor) -> None:
    """Save missing unit metrics whose usage metric exists, in the account in scope."""
    there = set(UnitMetric.objects.values_list("name", flat=True))
    metrics, key = {metric.name for metric in metrics_of(account)}, customer_key(account)
    for name, (description, question) in PLANS.items():
        if name not in there and question.usage_metric in metrics and (key or not question.by_customer):
            create_unit_metric(
                account=account, actor=actor, name=name, description=description, question=question
            )
