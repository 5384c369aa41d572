"""Claims of runs: one process runs an export, and another one takes over as soon as it has died; as for syncs of
connections."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import transaction

from finops.data_exports.models import UNFINISHED_STATUSES, DataExportRun
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.jobs import AttemptFence

MAX_ATTEMPTS: Final = 6
"""After this many attempts that killed their worker a run is given up. Months that it wrote stay, and the next run
continues."""


class RunTakeover(Exception):
    """Another process has taken over this run, or it was deleted with its export; this process must have no further effect."""


class RunCancellation(Exception):
    """A person has canceled this run: no further month is written, and the current one either not at all or completely."""


# Unscoped: a worker names the row itself.
fence: Final = AttemptFence(
    DataExportRun.objects.unscoped, takeover=RunTakeover, cancellation=RunCancellation
)


@contextmanager
def claim_run(run_id: int) -> Iterator[DataExportRun | None]:
    """Claim the run for this process and return it; None when it is finished, or its export runs elsewhere."""
    # Unscoped: a worker names the row itself.
    row = DataExportRun.objects.unscoped().filter(pk=run_id, status__in=UNFINISHED_STATUSES).first()
    if row is None:
        yield None
        return
    with advisory_lock(f"data export {row.export_id}") as has_lock:
        yield _begin(run_id) if has_lock else None


@transaction.atomic
def _begin(run_id: int) -> DataExportRun | None:
    # Unscoped: a worker names the row itself.
    rows = DataExportRun.objects.unscoped().select_related("account", "export__account")
    run = (
        rows.select_for_update(of=("self",))
        .filter(pk=run_id, status__in=UNFINISHED_STATUSES, account__suspended_at=None)
        .first()
    )
    if run is None:
        return None
    run.status, run.stage, run.attempts = DataExportRun.RunStatus.RUNNING, "listing", run.attempts + 1
    run.started_at = run.started_at or clock.now()
    if run.attempts > 1:
        # So that no attempt overwrites files that a manifest names, or deletes another's.
        run.execution_id = uuid.uuid4()
    run.save(update_fields=["status", "stage", "attempts", "started_at", "execution_id"])
    return run
