"""Writes on anomalies: what people say about them, and what the detector finds."""

from finops.insights.services.anomalies import (
    change_anomaly_settings,
    mark_expected,
    reopen,
    resolve,
)
from finops.insights.services.detection import detect_if_due, due_accounts

__all__ = [
    "change_anomaly_settings",
    "detect_if_due",
    "due_accounts",
    "mark_expected",
    "reopen",
    "resolve",
]
