from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import pre_delete


class IngestionConfig(AppConfig):
    name = "ingestion"
    label = "ingestion"
    verbose_name = "Ingestion"

    def ready(self) -> None:
        from accounts.services.deletion import register_files
        from ingestion.services.upload_files import remove_of_account

        register_files(remove_of_account)
        pre_delete.connect(_end_pushes, sender="accounts.Account", dispatch_uid="ingestion.pushes")


def _end_pushes(instance: Any, **_: Any) -> None:
    """Without it, a push could wait for a customer that is being deleted, and its deletion for the push's key."""
    from ingestion.services import keys

    keys.end_pushes(account=instance)
