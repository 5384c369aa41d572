"""Reads about usage, the same for tools and pages. The account must be in scope."""

from ingestion.queries.metrics import MetricInfo, find_metric, metrics_of, usage_metrics
from ingestion.queries.usage import UsageAsked, UsageGroup, UsageRead, read_usage

__all__ = [
    "MetricInfo",
    "UsageAsked",
    "UsageGroup",
    "UsageRead",
    "find_metric",
    "metrics_of",
    "read_usage",
    "usage_metrics",
]
