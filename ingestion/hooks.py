"""Hooks of ingestion into accounts: files to delete with an account, and the end of its pushes."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import pre_delete
from django.dispatch import receiver

from accounts.models import Account
from accounts.services.deletion import account_files
from ingestion.services import keys
from ingestion.services.upload_files import remove_of_account

account_files.add("ingestion", remove_of_account)


@receiver(pre_delete, sender=Account, dispatch_uid="ingestion.pushes")
def end_pushes(instance: Account, **_: Any) -> None:
    """Lock out pushes. Without it, a push could wait for a customer that is being deleted, and the deletion for the
    push's key."""
    keys.end_pushes(account=instance)
