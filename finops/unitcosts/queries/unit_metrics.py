"""Reads about saved unit metrics, and the question that one means."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from accounts.models import Account
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend import resolve_query
from finops.lib.errors import unknown_value
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries.customers import needed_customer_key
from finops.unitcosts.queries.usage_metric import meant_metric
from finops.unitcosts.saved import KEPT, asked_with
from finops.unitcosts.unit_cost_query import UnitCostQuery, cost_question
from ingestion.queries import metrics_of


@dataclass(frozen=True)
class Meant:
    """A question with its unit metric resolved. `name` empty: it named none."""

    query: UnitCostQuery
    name: str = ""
    notes: list[str] = field(default_factory=list)


def unit_metrics_of(account: Account) -> list[UnitMetric]:
    """Every saved unit metric, by name. One query."""
    return list(UnitMetric.objects.filter(account=account))


def find_unit_metric(account: Account, name: str) -> UnitMetric:
    """The unit metric of this name, in any case. One query. Raises UserError with the nearest names."""
    known = unit_metrics_of(account)
    found = [metric for metric in known if metric.name.casefold() == name.strip().casefold()]
    if not found:
        names = [metric.name for metric in known]
        raise unknown_value("unit_metric", name, names, listed_by="listUnitMetrics")
    return found[0]


def meant_by(account: Account, query: UnitCostQuery) -> Meant:
    """The question with what its unit metric saved; the same question when it names none."""
    if not query.unit_metric:
        return Meant(query)
    metric = find_unit_metric(account, query.unit_metric)
    asked, note = asked_with(metric, query)
    return Meant(asked, metric.name, [note] if note else [])


def checked(account: Account, question: UnitCostQuery) -> UnitCostQuery:
    """The question as a unit metric keeps it, its usage metric as it is spelled. No lake query.

    Raises UserError for what `query_unit_cost` would refuse: a misspelt metric or dimension, a filter without values,
    mode per_customer without a customer key.
    """
    metric = meant_metric(metrics_of(account), question.usage_metric)
    if question.by_customer:
        needed_customer_key(account, why="mode per_customer")
    kept = replace(UnitCostQuery(), **{name: getattr(question, name) for name in KEPT})
    resolve_query(account, cost_question(kept, ""), load_sources(account))
    return replace(kept, usage_metric=metric.name) if metric else kept
