"""Registrations of data exports with lower apps: their cost access, and warnings for data health about exports that fail
and those with an overdue run that no worker has started."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from accounts.creations import CreationKind, add_creation_kind
from accounts.models import Account
from finops.connections.states import GRACE
from finops.data_exports.models import DataExport, DataExportRun
from finops.insights.data_health import health_warnings
from finops.lib import clock
from finops.lib.sentences import quote


def export_warnings(account: Account) -> list[str]:
    """Return a sentence for each; paused exports are left out. One query."""
    running = DataExportRun.objects.filter(export=OuterRef("pk"), status=DataExportRun.RunStatus.RUNNING)
    late = Q(next_run_at__lt=clock.now() - GRACE) & ~Q(schedule=DataExport.Schedule.AFTER_IMPORTS)
    rows = DataExport.objects.filter(account=account, paused_at=None).filter(Q(failures__gt=0) | late)
    return [
        f"Data export {quote(row.name)} has failed since {row.failing_since:%Y-%m-%d %H:%M} UTC. Its page has the reason."
        if row.failing_since
        else f"A run of data export {quote(row.name)} has been due since {row.next_run_at:%Y-%m-%d %H:%M} UTC."
        for row in rows.exclude(Q(failures=0) & Exists(running))
    ]


add_creation_kind("data export", CreationKind(noun="data export", model=DataExport, reader="data_export"))
health_warnings.add("data exports", export_warnings)
