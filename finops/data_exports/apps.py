from __future__ import annotations

from django.apps import AppConfig


class DataExportsConfig(AppConfig):
    name = "finops.data_exports"
    label = "data_exports"
    verbose_name = "Data exports"

    def ready(self) -> None:
        from finops.data_exports import hooks  # noqa: F401 it registers
