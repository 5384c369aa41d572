from __future__ import annotations

from django.apps import AppConfig


class CostAccessConfig(AppConfig):
    name = "finops.cost_access"
    label = "cost_access"
    verbose_name = "Cost access"

    def ready(self) -> None:
        from finops.cost_access import hooks  # noqa: F401
