from __future__ import annotations

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "finops.alerts"
    label = "alerts"
    verbose_name = "Alerts"

    def ready(self) -> None:
        from finops.alerts import hooks  # noqa: F401
