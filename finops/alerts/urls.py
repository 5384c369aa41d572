"""Pages of alerts beneath `/a/<slug>/`, and pages outside of accounts for recipients of alert emails."""

from __future__ import annotations

from django.urls import path

from finops.alerts.views import (
    channel_forms,
    channels,
    deliveries,
    recipients,
    subscription_forms,
    subscriptions,
)

SUBSCRIPTION = "alerts/subscriptions/<int:subscription_id>/"
CHANNEL = "alerts/channels/<int:channel_id>/"
DELIVERY = "alerts/deliveries/<int:delivery_id>/"

urlpatterns = [
    path("alerts/", subscriptions.index, name="alerts"),
    path("alerts/subscriptions/new/", subscription_forms.new, name="alert_subscription_new"),
    path(SUBSCRIPTION, subscriptions.page, name="alert_subscription"),
    path(f"{SUBSCRIPTION}edit/", subscription_forms.edit, name="alert_subscription_edit"),
    path(f"{SUBSCRIPTION}pause/", subscriptions.pause, name="alert_subscription_pause"),
    path(f"{SUBSCRIPTION}resume/", subscriptions.resume, name="alert_subscription_resume"),
    path(f"{SUBSCRIPTION}delete/", subscriptions.delete, name="alert_subscription_delete"),
    path("alerts/of-budget/<int:budget_id>/", subscriptions.of_budget, name="alerts_of_budget"),
    path("alerts/channels/", channels.index, name="alert_channels"),
    path("alerts/channels/new/", channel_forms.new, name="alert_channel_new"),
    path(CHANNEL, channels.page, name="alert_channel"),
    path(f"{CHANNEL}edit/", channel_forms.edit, name="alert_channel_edit"),
    path(f"{CHANNEL}test/", channels.test, name="alert_channel_test"),
    path(f"{CHANNEL}secret/", channel_forms.secret, name="alert_channel_secret"),
    path(f"{CHANNEL}delete/", channel_forms.delete, name="alert_channel_delete"),
    path(
        "alerts/event-subscriptions/<int:event_subscription_id>/end/",
        channels.end_event_subscription,
        name="event_subscription_end",
    ),
    path("alerts/deliveries/", deliveries.index, name="alert_deliveries"),
    path(DELIVERY, deliveries.page, name="alert_delivery"),
    path(f"{DELIVERY}resend/", deliveries.resend, name="alert_delivery_resend"),
]

recipient_urlpatterns = [
    path("recipients/<str:token>/", recipients.show, name="alert_recipient"),
    path("recipients/<str:token>/confirm/", recipients.confirm, name="alert_recipient_confirm"),
    path("recipients/<str:token>/unsubscribe/", recipients.unsubscribe, name="alert_recipient_unsubscribe"),
]
