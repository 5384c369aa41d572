"""Functions that `tests.chaos.syncs` calls inside the console: an account with cost from a folder, its syncs, and
their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings

from accounts.audit import Actor
from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.celery import app
from finops.connections import services
from finops.connections.models import UNFINISHED_STATUSES, CostConnection, CostSync
from finops.costs.models import CostImport
from finops.lake.models import LakeSegment
from finops.lib.errors import UserError
from tests.factories.imports import cost_by
from tests.finops.connections.syncs.sync_steps import write_month

ACTOR = Actor(label="chaos")


def connect(folder: str) -> None:
    owner = User.objects.create_user("syncs@example.com")
    account = create_account(name="Syncs", owner=owner, slug="syncs")
    pattern = "{year}-{month}/*.csv"
    services.create_connection(
        account=account,
        actor=ACTOR,
        name="Bills",
        connector="folder",
        values={"folder": folder, "pattern": pattern},
    )


def write_months(folder: str, rows: dict[str, int]) -> None:
    """Restate months as the provider: write this many lines of 1 USD in each."""
    for month, count in rows.items():
        write_month(Path(folder), month, *["1"] * count)


def tick() -> None:
    """Send the task that beat sends every 15 seconds."""
    app.send_task("connections.run_due_syncs", expires=5)


def sync_now() -> None:
    """Queue a sync (*Sync now*) unless one is queued or running."""
    connection = CostConnection.objects.unscoped().select_related("account", "source").get()
    with account_scope(connection.account):
        try:
            services.queue_sync(connection=connection, actor=ACTOR)
        except UserError:
            return


def state() -> dict[str, Any]:
    """Return the newest sync, the current cost of each month, and anything that ended syncs may have left."""
    account = Account.objects.get(slug="syncs")
    with account_scope(account):
        sync = CostSync.objects.latest("pk")
        return {
            "sync": sync.pk,
            "status": sync.status,
            "stage": sync.stage,
            "attempts": sync.attempts,
            "error": sync.error,
            "amounts": {
                month: str(sums[0]) for month, sums in cost_by(account, "billing_period").items() if month
            },
            "segments": LakeSegment.objects.filter(retired_at=None).count(),
            "unfinished_imports": CostImport.objects.filter(status__in=UNFINISHED_STATUSES).count(),
            "failed_syncs": CostSync.objects.filter(status="failed").count(),
            "folders": [each.name for each in (Path(settings.VAR_DIR) / "uploads").glob("sync-*")],
        }
