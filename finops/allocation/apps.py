from __future__ import annotations

from django.apps import AppConfig


class AllocationConfig(AppConfig):
    name = "finops.allocation"
    label = "allocation"
    verbose_name = "Allocation"

    def ready(self) -> None:
        from finops.allocation import hooks  # noqa: F401
