"""What insights found, and what people said about it."""

from finops.insights.models.anomalies import Anomaly, AnomalyRun, AnomalySettings

__all__ = ["Anomaly", "AnomalyRun", "AnomalySettings"]
