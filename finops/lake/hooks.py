"""Signal handlers that remove an account's lake files and rows together with the account."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete, pre_delete
from django.dispatch import receiver

from accounts.models import Account
from accounts.services.deletion import account_files
from accounts.services.deletion_record import remaining_files
from finops.lake.storage import locks
from finops.lake.storage.garbage_collection import count_files, remove_files
from finops.lake.usage import inbox

account_files.add("lake", remove_files)
remaining_files.add("lake", count_files)


@receiver(pre_delete, sender=Account, dispatch_uid="lake.flush")
def wait_for_flush(instance: Account, **_: Any) -> None:
    """Wait for a running flush: otherwise it could name a new segment of the account after the last check for segments."""
    locks.lock_usage(instance)


@receiver(post_delete, sender=Account, dispatch_uid="lake.inbox")
def discard_inbox(instance: Account, **_: Any) -> None:
    """Remove the account's inbox rows: the inbox has no foreign keys, so deletes do not cascade into it."""
    inbox.discard(account_id=instance.pk)
