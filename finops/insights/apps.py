from __future__ import annotations

from django.apps import AppConfig


class InsightsConfig(AppConfig):
    name = "finops.insights"
    label = "insights"
    verbose_name = "Insights"

    def ready(self) -> None:
        from finops.insights import hooks  # noqa: F401
