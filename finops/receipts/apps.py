from __future__ import annotations

from django.apps import AppConfig


class ReceiptsConfig(AppConfig):
    name = "finops.receipts"
    label = "receipts"
    verbose_name = "Receipts of answers"

    def ready(self) -> None:
        from finops.receipts import hooks  # noqa: F401
