from __future__ import annotations

from django.apps import AppConfig


class DashboardsConfig(AppConfig):
    name = "finops.dashboards"
    label = "dashboards"
    verbose_name = "Dashboards"

    def ready(self) -> None:
        from finops.dashboards import hooks  # noqa: F401
