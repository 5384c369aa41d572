"""Reads about usage, the same for tools and pages. The account must be in scope."""

from ingestion.queries.events import list_usage_events
from ingestion.queries.metrics import MetricInfo, find_metric, metrics_of, usage_metrics
from ingestion.queries.usage import UsageAsked, UsageGroup, UsageRead, read_usage
from ingestion.queries.usage_answer import query_usage, shortened

__all__ = [
    "MetricInfo",
    "UsageAsked",
    "UsageGroup",
    "UsageRead",
    "find_metric",
    "list_usage_events",
    "metrics_of",
    "query_usage",
    "read_usage",
    "shortened",
    "usage_metrics",
]
