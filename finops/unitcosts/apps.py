from __future__ import annotations

from django.apps import AppConfig


class UnitCostsConfig(AppConfig):
    name = "finops.unitcosts"
    label = "unitcosts"
    verbose_name = "Unit costs"

    def ready(self) -> None:
        from finops.unitcosts import hooks  # noqa: F401
