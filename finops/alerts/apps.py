from __future__ import annotations

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "finops.alerts"
    label = "alerts"
    verbose_name = "Alerts"

    def ready(self) -> None:
        # They register what uses dimensions, what goes with a row that is deleted, and who hears of changed budgets.
        from finops.alerts import budget_changes, dependants, uses  # noqa: F401
