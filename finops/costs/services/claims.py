"""Claims on imports: one process at a time runs an import, and another takes over as soon as that one dies.

A PostgreSQL lock is held while an import runs (finops.lib.advisory_lock). It is released when its connection ends, so
after kill -9 the import can be resumed at once, without waiting for a heartbeat to expire. If only the connection
breaks, only the newest attempt may finish (finops.lib.jobs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, Q

from accounts.limits import limit_of
from accounts.models import Account
from finops.costs.models import CostImport, CostSource
from finops.lib import clock, disk
from finops.lib.advisory_lock import advisory_lock
from finops.lib.jobs import CANCEL_GRACE_PERIOD, AttemptFence, check_job_limit

MAX_ATTEMPTS = 3
"""The maximum of attempts: an import that kills its worker three times would do so again."""

RETRY_TIME: Final = timedelta(days=1)
"""The time that the files of a failed upload are kept."""
_UNFINISHED = Q(status__in=[CostImport.Status.QUEUED, CostImport.Status.RUNNING])


class ClaimLost(Exception):
    """Another process has taken over this import, or it was deleted; this process must have no effect."""


# Unscoped: a worker names the row itself.
fence: Final = AttemptFence(CostImport.objects.unscoped, takeover=ClaimLost)


@contextmanager
def claim_import(import_id: int) -> Iterator[CostImport | None]:
    """Claim an import and return it, running; None if it has ended, runs elsewhere or waits for an earlier one."""
    with advisory_lock(_name(import_id)) as has_lock:
        yield _begin(import_id) if has_lock else None


@contextmanager
def create_with_claim(create: Callable[[], CostImport]) -> Iterator[CostImport]:
    """Create an import that no other process can claim during the block."""
    with ExitStack() as stack:
        with transaction.atomic():
            job = create()
            stack.enter_context(advisory_lock(_name(job.pk)))
        yield job


def unfinished_imports() -> list[CostImport]:
    """Return imports that are due or running, over all accounts, oldest first."""
    # Unscoped: the queue serves every account.
    return list(CostImport.objects.unscoped().filter(_UNFINISHED).order_by("pk"))


def waiting_imports() -> list[CostImport]:
    """Imports that need a person's decision, over all accounts; their files are still needed."""
    # Unscoped: the sweep serves every account.
    return list(CostImport.objects.unscoped().filter(status=CostImport.Status.WAITING).order_by("pk"))


def imports_with_files() -> list[CostImport]:
    """Return imports whose files are needed, over all accounts: those that wait, run or need review and, unless disk
    space is low, uploads that failed within RETRY_TIME, which `retry_import` reads again."""
    needed = _UNFINISHED | Q(status=CostImport.Status.WAITING)
    if not disk.low_disk():
        needed |= Q(
            status=CostImport.Status.FAILED,
            origin=CostImport.Origin.UPLOAD,
            finished_at__gte=clock.now() - RETRY_TIME,
        )
    # Unscoped: the sweep serves every account.
    return list(CostImport.objects.unscoped().filter(needed))


def check_import_limit(*, account: Account) -> None:
    """Raise UserError if the account has the maximum of waiting and running imports. Those in review do not count."""
    # Unscoped: the account is named.
    count = CostImport.objects.unscoped().filter(_UNFINISHED, account=account).count()
    check_job_limit(count, "import", limit=limit_of(account, "JOBS_PER_ACCOUNT"), field="files")


def earlier_open_imports(job: CostImport) -> list[int]:
    """Return earlier imports into the same source; they go first, because later files replace earlier ones."""
    # Unscoped: the source belongs to one account.
    rows = CostImport.objects.unscoped().filter(_UNFINISHED, source_id=job.source_id, pk__lt=job.pk)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def should_continue(job: CostImport) -> bool:
    """Return whether the child may continue: not taken over or deleted, and not canceled so long ago that it should
    have stopped itself. Also after the import's end, while completeness and overlaps are computed."""
    # Unscoped: a worker names the row itself.
    imports = CostImport.objects.unscoped().filter(pk=job.pk, attempts=job.attempts)
    unfinished_late = _UNFINISHED & Q(cancel_requested_at__lt=clock.now() - CANCEL_GRACE_PERIOD)
    return imports.exclude(unfinished_late).exists()


def ask_to_cancel(job: CostImport) -> None:
    """Ask the process that runs the import to end it, for a sync that ends; a person uses `reviews.cancel_import`."""
    # Unscoped: a worker names the row itself.
    rows = CostImport.objects.unscoped().filter(_UNFINISHED, pk=job.pk, cancel_requested_at=None)
    rows.update(cancel_requested_at=clock.now())


def cancel_abandoned_syncs(source: CostSource) -> bool:
    """Cancel imports of a dead sync into the source: the sync fetches their files again. False while another worker
    runs one of them, which is asked to end it. Call only where no sync of the source can run."""
    # Unscoped: the source belongs to one account.
    rows = CostImport.objects.unscoped().filter(_UNFINISHED, source=source, origin=CostImport.Origin.SYNC)
    is_free = True
    for job in rows.order_by("pk"):
        with advisory_lock(_name(job.pk)) as has_lock:
            if has_lock:
                canceled = {"status": CostImport.Status.CANCELED, "finished_at": clock.now()}
                CostImport.objects.unscoped().filter(_UNFINISHED, pk=job.pk).update(**canceled)
            else:
                ask_to_cancel(job)
                is_free = False
    return is_free


@transaction.atomic
def _begin(import_id: int) -> CostImport | None:
    # Unscoped: a worker names the row itself.
    rows = CostImport.objects.unscoped().select_related("account", "source")
    job = rows.select_for_update(of=("self",)).filter(_UNFINISHED, pk=import_id).first()
    if job is None or earlier_open_imports(job):
        return None
    now = clock.now()
    CostImport.objects.unscoped().filter(pk=job.pk).update(
        status=CostImport.Status.RUNNING,
        stage="reading",
        attempts=F("attempts") + 1,
        started_at=now,
        heartbeat_at=now,
        bytes_done=0,
        rows=0,
    )
    return rows.get(pk=job.pk)


def _name(import_id: int) -> str:
    return f"cost import {import_id}"
