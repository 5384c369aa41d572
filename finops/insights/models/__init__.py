"""What insights found, and what people said about it."""

from finops.insights.models.anomalies import Anomaly, AnomalyRun, AnomalySettings
from finops.insights.models.savings import ImportedSaving, SavingsDismissal

__all__ = ["Anomaly", "AnomalyRun", "AnomalySettings", "ImportedSaving", "SavingsDismissal"]
