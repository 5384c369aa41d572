"""Reads about saved unit metrics, and the question that a metric stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from accounts.models import Account
from finops.costs.answers import AppliedFilter
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend import resolve_query
from finops.lib.answers import AccountRef
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.errors import unknown_value
from finops.lib.sentences import quote, truncate
from finops.unitcosts.answers import UnitMetricInfo, UnitMetricsAnswer
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries.customers import require_customer_key
from finops.unitcosts.queries.usage_scope import match_metric
from finops.unitcosts.saved_question import SAVED_FIELDS, merge_question, question_of
from finops.unitcosts.unit_cost_query import UnitCostQuery, cost_question
from ingestion.queries import metrics_of

MAX_LISTED = 50
SHOWN_VALUES = 10
MAX_TEXT = 120


@dataclass(frozen=True)
class ResolvedQuestion:
    """A question with its unit metric resolved. `name` is empty for a question without one."""

    query: UnitCostQuery
    name: str = ""
    notes: list[str] = field(default_factory=list)


def unit_metrics_of(account: Account) -> list[UnitMetric]:
    """Every saved unit metric, by name. One query."""
    return list(UnitMetric.objects.filter(account=account))


def find_unit_metric(account: Account, name: str, metrics: Sequence[UnitMetric] | None = None) -> UnitMetric:
    """Return the unit metric of this name, ignoring case. One query; none with `metrics`, all of the account. Raises
    UserError with the nearest names."""
    metrics = unit_metrics_of(account) if metrics is None else metrics
    matching = [metric for metric in metrics if metric.name.casefold() == name.strip().casefold()]
    if not matching:
        names = [metric.name for metric in metrics]
        raise unknown_value("unit_metric", name, names, listed_by="listUnitMetrics")
    return matching[0]


def resolve_unit_metric(
    account: Account, query: UnitCostQuery, metrics: Sequence[UnitMetric] | None = None
) -> ResolvedQuestion:
    """Return the question with the fields of its unit metric; unchanged without one. As `find_unit_metric`."""
    if not query.unit_metric:
        return ResolvedQuestion(query)
    metric = find_unit_metric(account, query.unit_metric, metrics)
    merged, note = merge_question(metric, query)
    return ResolvedQuestion(merged, metric.name, [note] if note else [])


def validate_question(account: Account, question: UnitCostQuery) -> UnitCostQuery:
    """Return the question in the form that a unit metric stores, its usage metric in the stored spelling. No lake
    query.

    Raises UserError for what `query_unit_cost` would refuse: a misspelt metric or dimension, a filter without values,
    mode per_customer without a customer key.
    """
    metric = match_metric(metrics_of(account), question.usage_metric)
    if question.by_customer:
        require_customer_key(account, why="mode per_customer")
    saved = replace(UnitCostQuery(), **{name: getattr(question, name) for name in SAVED_FIELDS})
    resolve_query(account, cost_question(saved, ""), load_sources(account))
    return replace(saved, usage_metric=metric.name) if metric else saved


def list_unit_metrics(
    account: Account, *, search: str = "", cursor: str = "", limit: int = MAX_LISTED
) -> UnitMetricsAnswer:
    """Return saved unit metrics by name with their cost and usage. One query. Raises UserError for a cursor of
    another query.

    `search` is a part of the name, description or usage metric, ignoring case.
    """
    every, search_text = unit_metrics_of(account), search.strip().casefold()
    matching = [
        metric
        for metric in every
        if search_text in f"{metric.name}\n{metric.description}\n{metric.usage_metric}".casefold()
    ]
    start = offset_of(cursor, search)
    page = matching[start : start + limit]
    after = start + len(page)
    noun = "saved unit metric" if len(matching) == 1 else "saved unit metrics"
    return UnitMetricsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"{quote(account.name)} has {len(matching) or 'no'} {noun}{' that match' if search_text else ''}.",
        unit_metrics=[_info(metric) for metric in page],
        total_unit_metrics=len(matching),
        cursor=next_cursor(after, search) if after < len(matching) else "",
        truncated=f"{len(page)} of {len(matching)}. Use cursor for the next page."
        if len(page) < len(matching)
        else "",
        warnings=[],
        hint=(
            "Use queryUnitCost with unit_metric and a period for its value."
            if page
            else "Use queryUnitCost with usage_metric, or save metrics on the Unit economics page."
        ),
    )


def _info(metric: UnitMetric) -> UnitMetricInfo:
    return UnitMetricInfo(
        name=metric.name,
        description=truncate(metric.description, MAX_TEXT),
        usage_metric=metric.usage_metric,
        per=metric.per,
        mode=metric.mode,
        splits=metric.splits,
        filters=[
            AppliedFilter(dimension=item.dimension, op=item.op, values=_truncate_values(item.values))
            for item in question_of(metric).filters
        ],
        usage_filters=[
            AppliedFilter(dimension=item.dimension, op="in", values=_truncate_values(item.values))
            for item in question_of(metric).usage_filters
        ],
        basis=metric.basis,
        charge_categories=list(metric.charge_categories),
    )


def _truncate_values(values: list[str]) -> list[str]:
    more = len(values) - SHOWN_VALUES
    texts = [truncate(value, MAX_TEXT) for value in values[:SHOWN_VALUES]]
    return [*texts, f"… and {more} more"] if more > 0 else texts
