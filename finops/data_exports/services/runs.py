"""The queue of runs: started by a person or the schedule, at most one unfinished for each export; the row is the queue."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, Window
from django.db.models.functions import RowNumber

from accounts import audit
from accounts.audit import Actor
from accounts.limits import older_than_retention
from accounts.scoping import account_scope
from finops.data_exports.models import UNFINISHED_STATUSES, DataExport, DataExportRun
from finops.data_exports.schedule import next_after_cancel
from finops.data_exports.services import export_run
from finops.data_exports.services.run_claims import claim_run
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lib import clock, disk
from finops.lib.cost_access import cost_access, require_whole_account
from finops.lib.errors import UserError
from finops.worker.broker import publish

RUN_TASK: Final = "data_exports.run"
MESSAGE_SECONDS: Final = 3_600
RULES_CHECK: Final = timedelta(days=1)
NEWEST_KEPT: Final = 50
"""The newest runs of each export that are kept, however old."""


@transaction.atomic
def queue_run(
    *,
    export: DataExport,
    actor: Actor,
    trigger: DataExportRun.RunTrigger = DataExportRun.RunTrigger.MANUAL,
) -> DataExportRun:
    """Run an export now, also a paused one. Raises UserError while a run of it is unfinished, LimitedCostAccess for a
    limited reader."""
    require_whole_account()
    run = DataExportRun(account=export.account, export=export, trigger=trigger, actor_label=actor.label[:254])
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        raise UserError("A run of this data export is queued or running already.") from None
    audit.record(account=export.account, actor=actor, action="data_export.run", target=export.name, detail={})
    account_id, pk = run.account_id, run.pk
    transaction.on_commit(lambda: publish(RUN_TASK, account_id, pk, expires=MESSAGE_SECONDS))
    return run


@transaction.atomic
def cancel_run(*, run: DataExportRun, actor: Actor) -> DataExportRun:
    """Cancel a run: a queued one ends now, a running one before its next file or row group. Months that it wrote stay, and
    the current one is in the bucket as before or complete; files that no manifest names are deleted, also those of killed
    attempts. The export runs again on its schedule. Safe to repeat. Raises UserError when it has ended, and for a run that
    deletes the export's files."""
    with account_scope(run.account):
        export = DataExport.objects.select_for_update(of=("self",), no_key=True).get(pk=run.export_id)
        row = DataExportRun.objects.select_for_update(of=("self",)).get(pk=run.pk)
        if not row.is_unfinished:
            raise UserError(f"This run is {row.get_status_display().lower()} and can no longer be canceled.")
        if export.removal_requested_at is not None:
            raise UserError(
                "This data export is being deleted with its files, and its run cannot be canceled."
            )
        if row.cancel_requested_at is not None:
            return row
        row.cancel_requested_at = clock.now()
        if row.status == DataExportRun.RunStatus.QUEUED:
            row.status, row.finished_at = DataExportRun.RunStatus.CANCELED, row.cancel_requested_at
            export.next_run_at = next_after_cancel(export, row.cancel_requested_at)
            export.save(update_fields=["next_run_at"])
        row.save(update_fields=["status", "finished_at", "cancel_requested_at"])
    detail = {"run_id": row.pk}
    audit.record(
        account=run.account, actor=actor, action="data_export.cancel_run", target=export.name, detail=detail
    )
    return row


def queue_due_runs() -> int:
    """Queue a run for each due export without an unfinished one, and return how many. An export that runs after imports
    waits until cost changed since its last success, and a day at most, for other changes: rules of cost tags, owners. Two
    queries."""
    # Unscoped: the schedule serves every account.
    unfinished = DataExportRun.objects.unscoped().filter(
        export=OuterRef("pk"), status__in=UNFINISHED_STATUSES
    )
    changed = LakeSegment.objects.unscoped().filter(
        Q(created_at__gt=OuterRef("changes_seen_at")) | Q(retired_at__gt=OuterRef("changes_seen_at")),
        account=OuterRef("account"),
        kind=Kind.COST.value,
    )
    exports = DataExport.objects.unscoped().filter(
        ~Q(schedule=DataExport.Schedule.AFTER_IMPORTS)
        | Q(changes_seen_at=None)
        | Q(changes_seen_at__lt=clock.now() - RULES_CHECK)
        | Q(failures__gt=0)
        | Q(removal_requested_at__isnull=False)
        | Exists(changed),
        paused_at=None,
        next_run_at__lte=clock.now(),
        account__suspended_at=None,
    )
    due = exports.exclude(Exists(unfinished)).order_by("next_run_at").values_list("pk", "account_id")
    runs = [DataExportRun(account_id=account_id, export_id=pk) for pk, account_id in due]
    # The constraint decides between two concurrent calls.
    DataExportRun.objects.unscoped().bulk_create(runs, ignore_conflicts=True)
    return len(runs)


def unfinished_runs() -> list[tuple[int, int]]:
    """Account and id of runs for a worker to check: queued ones, and running ones whose process may have died."""
    # Unscoped: the queue serves every account.
    rows = DataExportRun.objects.unscoped().filter(status__in=UNFINISHED_STATUSES, account__suspended_at=None)
    return list(rows.order_by("pk").values_list("account_id", "pk"))


def run_export(run_id: int) -> bool:
    """Execute a queued run, or one whose process died. Returns False when it has ended, its export runs elsewhere, or disk
    space is low.

    Safe to call twice, at once, and after kill -9 at any moment: a month is replaced completely, and a written one is not
    written again. An error is stored in the row.
    """
    if disk.low_disk():
        return False
    with claim_run(run_id) as run:
        if run is None:
            return False
        with account_scope(run.account), cost_access(None):
            export_run.run(run)
    return True


def remove_old_runs() -> int:
    """Delete runs that ended long ago, except the newest of each export, and return how many."""
    newest = Window(RowNumber(), partition_by=F("export_id"), order_by=F("pk").desc())
    # Unscoped: the sweep serves every account.
    rows = DataExportRun.objects.unscoped().exclude(status__in=UNFINISHED_STATUSES).annotate(place=newest)
    # A query of its own: conditions beside a window would apply before it, and number the old runs alone.
    beyond = rows.filter(place__gt=NEWEST_KEPT).values("pk")
    expired = older_than_retention("DATA_EXPORT_RUN_DAYS", "finished_at")
    old = DataExportRun.objects.unscoped().filter(expired, pk__in=beyond)
    removed: int = old.delete()[1].get(DataExportRun._meta.label, 0)
    return removed
