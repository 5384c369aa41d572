"""Anomalies as a detection leaves them, each in a separate incident unless it joins one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from accounts.models import Account
from finops.costs.models import CostSource
from finops.insights.anomalies.incidents import figures_of
from finops.insights.models import Anomaly, Incident

REVIEW = ("state", "note", "marked_by", "marked_by_label", "marked_at", "shared_impact")


def add_anomaly(
    account: Account, source: CostSource, *, incident: Incident | None = None, **columns: Any
) -> Anomaly:
    """Create an anomaly with these columns. Those of a review, and the shared impact, are stored in its incident."""
    review = {name: columns.pop(name) for name in REVIEW if name in columns}
    anomaly = Anomaly(account=account, source=source, incident=incident, **columns)
    for name in ("actual", "expected", "impact", "month_end_impact"):
        setattr(anomaly, name, Decimal(getattr(anomaly, name)))
    anomaly.is_counted = incident is None
    anomaly.save()
    if incident is None:
        figures = figures_of([anomaly])
        anomaly.incident = Incident.objects.create(
            account=account, key=anomaly.key, headline=anomaly, **figures, **review
        )
        anomaly.save(update_fields=["incident"])
    return anomaly
