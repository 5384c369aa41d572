"""Alerts of the demo company: email subscriptions to budgets, anomalies and the weekly digest, and their messages."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from datetime import timedelta
from typing import Any, Final

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.recipients import confirm_recipient
from finops.alerts.subscription_drafts import SubscriptionDraft
from finops.allocation.models import Team
from finops.budgets.queries import budget_statuses
from finops.budgets.schemas import BudgetStatus
from finops.budgets.status_rules import OK
from finops.demo.company import DOMAIN
from finops.lib import clock

CHANNELS: Final = {"FinOps": "finops", "Platform on call": "platform-oncall", "Leadership": "leadership"}
BEGAN: Final = timedelta(weeks=2)
"""The age of subscriptions: old enough that the digest of last week is due."""


def ensure_alerts(account: Account, actor: Actor) -> bool:
    """Create channels and subscriptions if there is no channel yet, in the account in scope, before the detection of its
    anomalies: a subscription does not report earlier ones."""
    if AlertChannel.objects.exists():
        return False
    statuses = budget_statuses(account)
    with clock.frozen(clock.now() - BEGAN):
        for name, address in CHANNELS.items():
            target = {"addresses": [f"{address}@{DOMAIN}"]}
            confirm_recipient(account=account, address=f"{address}@{DOMAIN}")
            services.create_channel(account=account, actor=actor, name=name, kind="email", target=target)
        for draft in _drafts(statuses):
            services.create_alert_subscription(account=account, actor=actor, draft=draft)
    return True


def _drafts(statuses: list[BudgetStatus]) -> list[SubscriptionDraft]:
    worst = sorted(statuses, key=lambda each: (each.status == OK, each.name))[:4]
    team = Team.objects.order_by("name").first()
    return [
        *(_draft("FinOps", "budget", budget=each.id, thresholds=(80, 100)) for each in worst),
        *(
            _draft("Leadership", "budget", budget=each.id, thresholds=(100,), measure="forecast")
            for each in worst[:2]
        ),
        _draft("FinOps", "anomaly"),
        *([_draft("Platform on call", "anomaly", scope="team", team=team.pk)] if team else []),
        _draft("FinOps", "digest", frequency="weekly"),
        _draft("Leadership", "digest", frequency="monthly"),
    ]


def _draft(channel: str, trigger: str, /, **fields: Any) -> SubscriptionDraft:
    return SubscriptionDraft(channel=channel, trigger=trigger, **fields)


def send_alerts(account: Account) -> int:
    """Evaluate alerts when that is due, send pending messages, and return how many were sent. Without a mail server mails would
    be printed to the terminal; they are discarded."""
    services.evaluate_if_due(account)
    with account_scope(account), redirect_stdout(io.StringIO()):
        waiting = AlertDelivery.objects.filter(status=AlertDelivery.Status.WAITING).order_by("pk")
        due = list(waiting.values_list("pk", flat=True))
        # One may take others of its channel along.
        for delivery_id in due:
            services.send_delivery(account=account, delivery_id=delivery_id)
        return len(due) - waiting.count()
