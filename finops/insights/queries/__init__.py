"""Reads about what changed, what is wrong and how well the data is. The account must be in scope."""

from finops.insights.queries.anomalies import (
    anomalies_in_scope,
    anomaly_settings,
    causes_of_row,
    change_events,
    list_anomalies,
    not_complete,
    open_anomalies,
    primary_anomalies,
    row_of,
    state_counts,
)

__all__ = [
    "anomalies_in_scope",
    "anomaly_settings",
    "causes_of_row",
    "change_events",
    "list_anomalies",
    "not_complete",
    "open_anomalies",
    "primary_anomalies",
    "row_of",
    "state_counts",
]
