"""Arguments and results of the alert tools. Nothing here holds a secret."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.lib.answers import AccountAnswer

TriggerName = Literal["budget", "anomaly", "digest"]


class SubscriptionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    triggers: Annotated[list[TriggerName], Meta(description="Empty: all.")] = []
    channel: Annotated[int | str | None, Meta(description="Name or ID.")] = None
    budget: Annotated[int | str | None, Meta(description="Name or ID.")] = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: str = ""


DeliveryStatusName = Literal["waiting", "delivered", "failed"]


class DeliveriesQuery(msgspec.Struct, frozen=True, kw_only=True):
    statuses: Annotated[list[DeliveryStatusName], Meta(description="Empty: all.")] = []
    channel: Annotated[int | str | None, Meta(description="Name or ID.")] = None
    include_tests: Annotated[bool, Meta(description="Include test messages.")] = True
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: str = ""


class ChannelLine(msgspec.Struct, frozen=True, kw_only=True):
    """target: what may be shown of where it leads; tested_at: when a test last arrived."""

    id: int
    name: str
    kind: str
    target: str
    tested_at: datetime | None
    subscriptions: int


class AlertChannelsAnswer(AccountAnswer, frozen=True, kw_only=True):
    channels: list[ChannelLine]
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


class SubscriptionLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """about: all of it in words; warning: why it will not fire; last_fired_at: when it last sent something."""

    id: int
    about: str
    channel_id: int
    channel_name: str
    trigger: str
    paused: bool
    last_fired_at: datetime | None
    budget_id: int | None = None
    thresholds: list[int] = []
    measure: str = ""
    scope: str = ""
    scope_name: str = ""
    minimum_impact: Decimal | None = None
    currency: str = ""
    frequency: str = ""
    warning: str = ""


class AlertSubscriptionsAnswer(AccountAnswer, frozen=True, kw_only=True):
    subscriptions: list[SubscriptionLine]
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


class AlertSubscriptionAnswer(AccountAnswer, frozen=True, kw_only=True):
    subscription: SubscriptionLine
    warnings: list[str]
    hint: str
    console_url: str = ""


class DeliveryLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """answer: what the receiver last said; attempts: how often it was tried; currency: of the amounts in the message."""

    id: int
    created_at: datetime
    channel_name: str
    kind: str
    title: str
    currency: str = ""
    status: str
    attempts: int
    channel_id: int | None = None
    subscription_id: int | None = None
    status_code: int | None = None
    answer: str = ""
    delivered_at: datetime | None = None
    next_attempt_at: datetime | None = None
    resend_of: int | None = None
    is_test: bool = False


class AlertDeliveriesAnswer(AccountAnswer, frozen=True, kw_only=True):
    deliveries: list[DeliveryLine]
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
