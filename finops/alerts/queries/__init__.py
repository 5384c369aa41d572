"""Reads about alerts, the same for tools and pages. The account must be in scope."""

from finops.alerts.queries.channels import ChannelRow, channels
from finops.alerts.queries.deliveries import (
    Attempt,
    DeliveriesPage,
    DeliveryRow,
    deliveries,
    delivery_row,
    every_delivery,
)
from finops.alerts.queries.subscriptions import (
    SubscriptionRow,
    SubscriptionsPage,
    alert_subscriptions,
    every_subscription,
    one_subscription,
)
from finops.alerts.queries.tool_answers import (
    find_budget,
    find_channel,
    list_alert_channels,
    list_alert_deliveries,
    list_alert_subscriptions,
    new_subscription_answer,
)

__all__ = [
    "Attempt",
    "ChannelRow",
    "DeliveriesPage",
    "DeliveryRow",
    "SubscriptionRow",
    "SubscriptionsPage",
    "alert_subscriptions",
    "channels",
    "deliveries",
    "delivery_row",
    "every_delivery",
    "every_subscription",
    "find_budget",
    "find_channel",
    "list_alert_channels",
    "list_alert_deliveries",
    "list_alert_subscriptions",
    "new_subscription_answer",
    "one_subscription",
]
