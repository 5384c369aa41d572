"""Writes on alerts. The caller checks permissions."""

from finops.alerts.services.channels import (
    change_channel,
    create_channel,
    delete_channel,
    regenerate_signing_secret,
    test_channel,
)
from finops.alerts.services.deliveries import deliver, resend, send_delivery, send_due, sweep
from finops.alerts.services.evaluation_runs import due_accounts, evaluate, evaluate_if_due
from finops.alerts.services.event_ends import end_subscription
from finops.alerts.services.event_subscriptions import end_dead, subscribe, sweep_events, unsubscribe
from finops.alerts.services.subscription_changes import change_alert_subscription
from finops.alerts.services.subscriptions import (
    SubscriptionResult,
    create_alert_subscription,
    delete_alert_subscription,
    pause_alert_subscription,
    resume_alert_subscription,
)

__all__ = [
    "SubscriptionResult",
    "change_alert_subscription",
    "change_channel",
    "create_alert_subscription",
    "create_channel",
    "delete_alert_subscription",
    "delete_channel",
    "deliver",
    "due_accounts",
    "end_dead",
    "end_subscription",
    "evaluate",
    "evaluate_if_due",
    "pause_alert_subscription",
    "regenerate_signing_secret",
    "resend",
    "resume_alert_subscription",
    "send_delivery",
    "send_due",
    "subscribe",
    "sweep",
    "sweep_events",
    "test_channel",
    "unsubscribe",
]
