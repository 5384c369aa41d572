"""Channels that send to receivers of this machine, messages for them, and their deliveries at a time, for tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.messages import Fact, Message
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.recipients import confirm_recipient
from finops.lib import clock
from tests.cast import ACTOR
from tests.receivers import Receiver

KEY = "0123456789abcdef0123456789abcdef"


def message(**changes: Any) -> Message:
    fields: dict[str, Any] = {
        "title": "Budget Platform has reached 80 %",
        "summary": "812.50 USD of 1,000.00 USD in March 2026.",
        "facts": (Fact("Spent", "812.50 USD"), Fact("Budget", "1,000.00 USD")),
        "url": "https://finops.example.com/a/acme/budgets/7/",
        "severity": "warning",
        "kind": "budget",
        "dedup_key": "finops:acme:budget:7:2026-03",
        "data": {"spent": {"amount": "812.50", "currency": "USD"}},
    }
    return Message(**{**fields, **changes})


def create_channel_to(
    account: Account, receiver: Receiver, kind: str = "slack", name: str = "Hook"
) -> AlertChannel:
    return create_channel_with_secret(account, receiver, kind, name)[0]


def create_channel_with_secret(
    account: Account, receiver: Receiver, kind: str = "webhook", name: str = "Hook"
) -> tuple[AlertChannel, str]:
    key = {"routing_key": KEY} if kind == "pagerduty" else {}
    target = {"url": receiver.url, **key}
    return services.create_channel(account=account, actor=ACTOR, name=name, kind=kind, target=target)


def create_mail_channel(
    account: Account, *addresses: str, name: str = "Mail", confirmed: bool = True
) -> AlertChannel:
    target = {"addresses": list(addresses)}
    for address in addresses if confirmed else ():
        confirm_recipient(account=account, address=address)
    return services.create_channel(account=account, actor=ACTOR, name=name, kind="email", target=target)[0]


def deliver(channel: AlertChannel, **fields: Any) -> AlertDelivery:
    return services.deliver(account=channel.account, channel=channel, message=message(**fields))


def run_deliveries(*, at: datetime | None = None) -> int:
    """Do the work of beat and workers at a time: send until nothing is due. Return the number of attempts."""
    with clock.frozen(at or clock.now()):
        done = 0
        while due := services.send_due():
            for account_id, delivery_id in due:
                account = Account.objects.get(pk=account_id)
                done += services.send_delivery(account=account, delivery_id=delivery_id)
        return done


def reload(row: AlertDelivery) -> AlertDelivery:
    with account_scope(row.account):
        return AlertDelivery.objects.get(pk=row.pk)


def attempt_answers(row: AlertDelivery) -> list[tuple[int | None, str]]:
    return [(each["status_code"], each["answer"]) for each in reload(row).attempts]


def retry_delay(row: AlertDelivery) -> timedelta:
    """Return the time from the last attempt to the next."""
    delivery = reload(row)
    assert delivery.next_attempt_at is not None
    return delivery.next_attempt_at - datetime.fromisoformat(delivery.attempts[-1]["at"])
