"""What connections add to accounts: the parts of pushes that go with an account or a source."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver

from accounts.services.deletion import account_files
from finops.connections.models import CostPush
from finops.connections.services import push_folders

account_files.add("connections", push_folders.remove_of_account)


@receiver(post_delete, sender=CostPush, dispatch_uid="connections.push_parts")
def remove_parts(instance: CostPush, **_: Any) -> None:
    public_id = instance.public_id
    transaction.on_commit(lambda: push_folders.remove(public_id))
