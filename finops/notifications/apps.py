from __future__ import annotations

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "finops.notifications"
    label = "notifications"
    verbose_name = "Notifications"
