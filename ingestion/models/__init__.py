from __future__ import annotations

from ingestion.models.ledger import (
    PushAnswer,
    RejectedEvent,
    UsageBatch,
    UsageDay,
    UsageMeter,
    UsageRetention,
)
from ingestion.models.sources import UsageKey, UsageSource
from ingestion.models.uploads import RejectedLine, UsageUpload
from ingestion.models.usage import Customer, UsageDimension, UsageMetric

__all__ = [
    "Customer",
    "PushAnswer",
    "RejectedEvent",
    "RejectedLine",
    "UsageBatch",
    "UsageDay",
    "UsageDimension",
    "UsageKey",
    "UsageMeter",
    "UsageMetric",
    "UsageRetention",
    "UsageSource",
    "UsageUpload",
]
