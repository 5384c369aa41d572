from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete, pre_delete


class LakeConfig(AppConfig):
    name = "finops.lake"
    label = "lake"
    verbose_name = "Lake"

    def ready(self) -> None:
        from accounts.services.deletion import register_files
        from finops.lake.storage.garbage_collection import remove_files

        register_files(remove_files)
        pre_delete.connect(_wait_for_flush, sender="accounts.Account", dispatch_uid="lake.flush")
        # The inbox has no foreign keys, so nothing cascades into it.
        post_delete.connect(_discard_inbox, sender="accounts.Account", dispatch_uid="lake.inbox")


def _wait_for_flush(instance: Any, **_: Any) -> None:
    """Without it, a flush could name a new segment of the account between the last look for them and its end."""
    from finops.lake.storage import locks

    locks.lock_usage(instance)


def _discard_inbox(instance: Any, **_: Any) -> None:
    from finops.lake.usage import inbox

    inbox.discard(account_id=instance.pk)
