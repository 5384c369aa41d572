"""The query of recent events (the tool `listRecentEvents`), and an event in its answer.

Docstrings of these types are in the OpenAPI document.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from finops.lib.answers import AccountAnswer

MAX_DAYS = 400
MAX_LIMIT = 50


class RecentEventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    days: Annotated[int, Meta(description="How far back.", ge=1, le=MAX_DAYS)] = 7
    after: Annotated[int, Meta(description="ID of the newest event already received.", ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)] = 20


class RecentEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """kind: alert (budget, anomaly, connection …), import, sync, push, upload or export; currency: of the amounts in title and text."""

    id: int
    at: datetime
    kind: str
    severity: str
    title: str
    text: str = ""
    currency: str = ""
    console_url: str = ""


class RecentEventsAnswer(AccountAnswer, frozen=True, kw_only=True):
    events: list[RecentEvent]
    total_events: int
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
