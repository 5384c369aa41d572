from __future__ import annotations

from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "finops.exports"
    label = "exports"
    verbose_name = "Exports"

    def ready(self) -> None:
        from finops.exports import hooks  # noqa: F401 it registers
