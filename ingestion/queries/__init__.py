"""Queries about usage, the same for tools and pages. The account must be in scope."""

from ingestion.queries.billing import metered_events, metered_events_by_month
from ingestion.queries.customers import (
    CustomerMetric,
    CustomerOrder,
    CustomerUsage,
    customer_ids,
    customer_metrics,
    list_customers,
    metric_units,
)
from ingestion.queries.events import list_usage_events
from ingestion.queries.metrics import MetricInfo, find_metric, first_metric, metrics_of, usage_metrics
from ingestion.queries.resolution import ValueSuggestion, suggest_values
from ingestion.queries.usage import MetricQuery, MetricUsage, UsageGroup, read_usage
from ingestion.queries.usage_answer import fit_to_size, query_usage

__all__ = [
    "CustomerMetric",
    "CustomerOrder",
    "CustomerUsage",
    "MetricInfo",
    "MetricQuery",
    "MetricUsage",
    "UsageGroup",
    "ValueSuggestion",
    "customer_ids",
    "customer_metrics",
    "find_metric",
    "first_metric",
    "fit_to_size",
    "list_customers",
    "list_usage_events",
    "metered_events",
    "metered_events_by_month",
    "metric_units",
    "metrics_of",
    "query_usage",
    "read_usage",
    "suggest_values",
    "usage_metrics",
]
