"""Pages of people whom alerts are mailed to, outside of accounts."""

from __future__ import annotations

from django.urls import path

from finops.alerts.views import recipients

urlpatterns = [
    path("recipients/<str:token>/", recipients.show, name="alert_recipient"),
    path("recipients/<str:token>/confirm/", recipients.confirm, name="alert_recipient_confirm"),
    path("recipients/<str:token>/unsubscribe/", recipients.unsubscribe, name="alert_recipient_unsubscribe"),
]
