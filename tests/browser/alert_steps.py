"""Alerts for the browser tests, created and sent inside the server's process."""

from __future__ import annotations

from accounts.models import Account
from finops.alerts import services
from finops.alerts.messages import Fact, Message
from finops.alerts.models import AlertDelivery
from finops.alerts.recipients import confirm_recipient
from finops.alerts.subscription_drafts import SubscriptionDraft
from finops.lib import clock
from tests.cast import ACTOR

LONG = "A channel with a name as long as people make them, for everybody who has to do with cost"


def make_alerts(account: Account) -> None:
    """Create two channels, subscriptions of two triggers, and a failed delivery. The account must be in scope."""
    for name, kind, target in (
        ("Ops", "email", {"addresses": ["ops@example.com", "finance-and-controlling@example.com"]}),
        (LONG, "webhook", {"url": "http://127.0.0.1:8099/hooks/finops"}),
    ):
        services.create_channel(account=account, actor=ACTOR, name=name, kind=kind, target=target)
    for address in ("ops@example.com", "finance-and-controlling@example.com"):
        confirm_recipient(account=account, address=address)
    drafts = [
        SubscriptionDraft(channel="Ops", trigger="digest", frequency="weekly"),
        SubscriptionDraft(channel=LONG, trigger="anomaly", scope="team", team="Core"),
    ]
    subscriptions = [
        services.create_alert_subscription(account=account, actor=ACTOR, draft=each).subscription
        for each in drafts
    ]
    services.pause_alert_subscription(subscription=subscriptions[0], actor=ACTOR)
    message = Message(
        title="'Acme': budget 'Everything that the company spends on machines' is at 106.3 %",
        summary="29,982.83 USD of 28,200.00 USD are spent.",
        facts=(Fact("Spent", "29,982.83 USD"), Fact("Of", "https://example.com/" + "long" * 30)),
        url="http://127.0.0.1/a/acme/budgets/",
        kind="budget",
        dedup_key="test",
    )
    delivery = services.deliver(account=account, channel=subscriptions[1].channel, message=message)
    tried = {"at": clock.now().isoformat(), "seconds": 0.25, "status_code": 503, "answer": "Busy" * 40}
    AlertDelivery.objects.filter(pk=delivery.pk).update(
        status="failed", next_attempt_at=None, attempts=[tried, tried]
    )


def work() -> int:
    """Do the work of beat and workers: evaluate alerts and send due deliveries. Return the number sent."""
    account = Account.objects.get(slug="acme")
    services.evaluate(account)
    return sum(
        services.send_delivery(account=account, delivery_id=delivery_id)
        for account_id, delivery_id in services.send_due()
        if account_id == account.pk
    )
