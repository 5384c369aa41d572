from __future__ import annotations

from django.apps import AppConfig


class CostsConfig(AppConfig):
    name = "finops.costs"
    label = "costs"
    verbose_name = "Costs"

    def ready(self) -> None:
        from finops.costs import hooks  # noqa: F401
