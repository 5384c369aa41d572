from __future__ import annotations

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "finops.reports"
    label = "reports"
    verbose_name = "Reports"

    def ready(self) -> None:
        from finops.reports import hooks  # noqa: F401
