"""What connections add to accounts and to answers about cost."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.signals import post_delete
from django.dispatch import receiver

from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services.deletion import account_files
from finops.connections.models import CostConnection, CostPush, CostSync
from finops.connections.services import push_folders
from finops.connections.states import GRACE
from finops.costs.forms import upload_cautions
from finops.costs.queries.source_problems import SourceProblem, source_problems
from finops.lib import clock
from finops.lib.sentences import truncate

account_files.add("connections", push_folders.remove_of_account)


@receiver(post_delete, sender=CostPush, dispatch_uid="remove_push_files")
def remove_parts(instance: CostPush, **_: Any) -> None:
    public_id = instance.public_id
    transaction.on_commit(lambda: push_folders.remove(public_id))


@upload_cautions.register("syncs")
def synced_sources(account: Account) -> dict[int, str]:
    """Sources that syncs fill, but those that are paused. One query."""
    with account_scope(account):
        rows = CostConnection.objects.filter(paused_at=None).values_list("source_id", "source__name")
    return {
        source_id: f"Syncs bring the cost of {truncate(name, 60)!r}, and the next one replaces what is uploaded of months that its "
        "provider still has. Upload into a new source, pause its syncs first, or tick “Upload all the same” for months that "
        "the provider has no more."
        for source_id, name in rows
    }


@source_problems.register("syncs")
def sync_problems(account: Account) -> list[SourceProblem]:
    """Sources whose syncs fail, and those whose sync is long due and runs nowhere; not those that are paused. One query."""
    latest = clock.now() - GRACE
    with account_scope(account):
        running = CostSync.objects.filter(
            connection=OuterRef("pk"), status="running", heartbeat_at__gt=latest
        )
        is_late = Q(next_sync_at__lt=latest) & ~Exists(running)
        rows = CostConnection.objects.filter(Q(failures__gt=0) | is_late, paused_at=None)
        rows = rows.order_by(F("failing_since").asc(nulls_last=True), "next_sync_at")
        known = list(rows.values_list("source_id", "failing_since", "next_sync_at"))
    return [
        SourceProblem(source_id, f"syncs of {{name}} have failed since {since:%Y-%m-%d %H:%M} UTC")
        if since is not None
        else SourceProblem(source_id, f"a sync of {{name}} has been due since {due:%Y-%m-%d %H:%M} UTC")
        for source_id, since, due in known
    ]
