"""Channels, subscriptions and their deliveries, for tests. Everything is created by the services."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.alerts.recipients import confirm_recipient
from finops.alerts.subscription_drafts import SubscriptionDraft
from tests.cast import ACTOR


def create_channel(account: Account, name: str = "Ops") -> AlertChannel:
    """Create an email channel with a confirmed address."""
    confirm_recipient(account=account, address="ops@example.com")
    new_channel, _secret = services.create_channel(
        account=account, actor=ACTOR, name=name, kind="email", target={"addresses": ["ops@example.com"]}
    )
    return new_channel


def subscription_draft(trigger: str = "digest", /, **changes: Any) -> SubscriptionDraft:
    """Return a subscription of the channel Ops, weekly for a digest, unless overridden by `rest`."""
    fields = {"frequency": "weekly"} if trigger == "digest" else {}
    return SubscriptionDraft(**{"channel": "Ops", "trigger": trigger, **fields, **changes})


def create_subscription(
    account: Account, trigger: str = "digest", /, **fields: Any
) -> services.SubscriptionResult:
    return services.create_alert_subscription(
        account=account, actor=ACTOR, draft=subscription_draft(trigger, **fields)
    )


def subscribe(account: Account, trigger: str = "digest", /, **fields: Any) -> AlertSubscription:
    return create_subscription(account, trigger, **fields).subscription


def subscribe_to_budget(account: Account, budget: Any, *thresholds: int, **fields: Any) -> AlertSubscription:
    return subscribe(account, "budget", budget=budget, thresholds=thresholds, **fields)


def subscribe_to_anomalies(
    account: Account, impact: str | int | None = None, **fields: Any
) -> AlertSubscription:
    money = {} if impact is None else {"minimum_impact": Decimal(impact), "currency": "USD"}
    return subscribe(account, "anomaly", **{**money, **fields})


def delivery_titles(account: Account) -> list[str]:
    """Return the titles of what was sent so far, in order, without the account's name."""
    rows = AlertDelivery.objects.filter(account=account).order_by("pk")
    return [str(row.message["title"]).removeprefix(f"'{account.name}': ") for row in rows]


def evaluate(account: Account) -> list[str]:
    """Evaluate the alerts, and return the titles of what was sent."""
    return [
        str(each.message["title"]).removeprefix(f"'{account.name}': ") for each in services.evaluate(account)
    ]
