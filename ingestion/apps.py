from __future__ import annotations

from django.apps import AppConfig


class IngestionConfig(AppConfig):
    name = "ingestion"
    label = "ingestion"
    verbose_name = "Ingestion"

    def ready(self) -> None:
        from ingestion import hooks  # noqa: F401
