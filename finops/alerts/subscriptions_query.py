"""What is asked about subscriptions: the arguments of the tool `listAlertSubscriptions`, and the URL of its page."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

TriggerName = Literal["budget", "anomaly", "digest"]


class SubscriptionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    trigger: Annotated[list[TriggerName], Meta(description="Left out: all.")] = []
    channel_id: Annotated[int | None, Meta(description="From listAlertChannels.")] = None
    budget_id: Annotated[int | None, Meta(description="From listBudgets.")] = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: Annotated[str, Meta(description="From the answer before.")] = ""
