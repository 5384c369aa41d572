from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete


class LakeConfig(AppConfig):
    name = "finops.lake"
    label = "lake"
    verbose_name = "Lake"

    def ready(self) -> None:
        # The inbox has no foreign keys, so nothing cascades into it.
        post_delete.connect(_discard_waiting, sender="accounts.Account", dispatch_uid="lake.inbox")


def _discard_waiting(instance: Any, **_: Any) -> None:
    from finops.lake import inbox

    inbox.discard(account_id=instance.pk)
