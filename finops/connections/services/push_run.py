"""Imports a committed push: a worker converts JSON to Parquet, then the common importer imports the whole month.

One push of a source at a time, in the order of their commits, so that the last push of a month counts. Another
process continues a push whose process died; importing a month again changes nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
from django.db import connection, transaction

from accounts.audit import Actor
from accounts.scoping import account_scope
from finops.connections.models import UNFINISHED_STATUSES, CostPush, CostPushPart
from finops.connections.push_files import PartFormat, convert_to_parquet
from finops.connections.schemas import PushTotal
from finops.connections.services import push_folders
from finops.connections.services.pushes import MESSAGE_SECONDS, RUN_TASK
from finops.costs.import_decision import Decision, name_of
from finops.costs.models import CostImport
from finops.costs.services import cancel_abandoned_syncs, import_files
from finops.lib import child_process, clock, disk
from finops.lib.advisory_lock import advisory_lock
from finops.lib.child_process import ChildOutcome
from finops.lib.errors import UserError
from finops.lib.formats import dates
from finops.lib.jobs import AttemptFence, JobDeadline, count_outcome, failure_in_child, internal_error
from finops.lib.telemetry import metrics
from finops.lib.unavailable import is_unavailable
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path
from finops.worker.broker import publish

logger = logging.getLogger(__name__)

MAX_ATTEMPTS: Final = 5
_BROKEN: Final = f"{internal_error('import', 'existing data is kept')} Then push the month again."
_INTERRUPTED: Final = "The import was interrupted five times; existing data is kept. Push the month again."

PushStatus = CostPush.PushStatus


class _PushTakeover(Exception):
    """Another process claimed the push, or it was deleted with its source; this process must write nothing."""


# Unscoped: a worker names the row itself.
_fence: Final = AttemptFence(CostPush.objects.unscoped, takeover=_PushTakeover)


def unfinished_pushes() -> list[tuple[int, int]]:
    """Return account and id of pushes for workers: queued ones, and running ones whose process may have died; in the
    order of their commits."""
    # Unscoped: the queue serves every account.
    rows = CostPush.objects.unscoped().filter(status__in=UNFINISHED_STATUSES)
    return list(rows.order_by("committed_at", "pk").values_list("account_id", "pk"))


def run_push(push_id: int, *, in_child: bool = False) -> bool:
    """Import a committed push, or continue one whose process died. Returns False if it cannot run now: it has ended,
    an earlier push of its source has not, or disk space is low.

    Safe to call twice, concurrently, and after kill -9 at any moment. Errors are stored in the row. With `in_child`
    files are read in a child process.
    """
    if disk.low_disk():
        return False
    with _claim_push(push_id) as push:
        if push is None:
            return False
        with account_scope(push.account):
            with count_outcome(metrics.COST_PUSHES, CostPush.objects.filter(pk=push.pk)):
                _run(push, in_child=in_child and not connection.in_atomic_block)
            if not CostPush.objects.filter(pk=push.pk, status__in=UNFINISHED_STATUSES).exists():
                push_folders.remove(push.public_id)
    _ask_next(push)
    return True


def _run(push: CostPush, *, in_child: bool) -> None:
    try:
        if push.attempts > MAX_ATTEMPTS:
            raise UserError(_INTERRUPTED)
        job = _import(push, in_child=in_child)
        _finish(push, job)
    except _PushTakeover:
        logger.warning("connections: push %s was taken up elsewhere, or went with its source", push.pk)
    except UserError as error:
        _fail_or_wait(push, error)
    except Exception as error:
        if not is_unavailable(error) and _fence.row(push).exists():
            _end(push, status=PushStatus.FAILED, error=_BROKEN)
        raise


def _import(push: CostPush, *, in_child: bool) -> CostImport:
    parts = list(CostPushPart.objects.filter(push=push).order_by("number"))
    job = import_files(
        account=push.account,
        source=push.source,
        paths=_prepare(push, parts, in_child=in_child),
        actor=Actor(label=push.actor_label),
        origin=CostImport.Origin.SYNC,
        decision=Decision.of_push(push.month),
        in_child=in_child,
    )
    if job.status != CostImport.Status.DONE:
        raise UserError("The import was canceled in the console. Push the month again.")
    return job


def _prepare(push: CostPush, parts: Sequence[CostPushPart], *, in_child: bool) -> list[Path]:
    """Return the files to import, in a folder of this attempt, by their names in error messages. Raises UserError for
    a part whose file is missing or truncated, and for invalid JSON."""
    folder = push_folders.folder_of(push.public_id)
    work = folder / f"attempt-{push.attempts}"
    work.mkdir(parents=True, exist_ok=True)
    conversions: list[tuple[str, str, str, str]] = []
    for part in parts:
        path, name = folder / part.file_name, f"part-{part.number}"
        if not path.is_file() or path.stat().st_size != part.bytes:
            raise UserError(f"Part {part.number} was lost on this server. Push the month again.")
        if PartFormat(part.format).is_json:
            conversions.append((str(path), str(work / name), name, part.format))
        else:
            (work / name).unlink(missing_ok=True)
            os.link(path, work / name)
    if conversions:
        _convert(push, conversions, in_child=in_child)
    paths = [work / f"part-{part.number}" for part in parts]
    return [path for path in paths if path.exists()]


def _convert(push: CostPush, conversions: list[tuple[str, str, str, str]], *, in_child: bool) -> None:
    if not in_child:
        convert(conversions)
        return
    result = child_process.run(
        f"{__name__}.convert_in_child",
        conversions,
        name=f"cost push {push.pk}",
        deadline=JobDeadline().end,
        should_continue=lambda: _fence.row(push).exists(),
    )
    if result.end is ChildOutcome.CANCELED:
        raise _PushTakeover
    error = Path(f"{conversions[0][1]}.error")
    if error.exists():
        raise UserError(error.read_text())
    if failure := failure_in_child(result, "import", place="while reading JSON", is_last=True):
        raise UserError(failure)


def convert_in_child(conversions: list[tuple[str, str, str, str]]) -> None:
    """Entry point of the child process. It writes details of an error beside the first file."""
    try:
        convert(conversions)
    except UserError as error:
        Path(f"{conversions[0][1]}.error").write_text(error.message)


def convert(conversions: list[tuple[str, str, str, str]]) -> None:
    """Convert parts, each given as part, Parquet file to write, name and format. Raises FocusFileError."""
    for path, target, name, format_ in conversions:
        convert_to_parquet(Path(path), Path(target), name, PartFormat(format_))


def _finish(push: CostPush, job: CostImport) -> None:
    months: list[dict[str, Any]] = job.report.get("months", [])
    totals = [
        PushTotal(
            currency=total["currency"],
            billed_cost=_plain(total["billed_cost"]),
            effective_cost=_plain(total["effective_cost"]),
        )
        for month in months
        if month["month"] == name_of(push.month)
        for total in month["totals"]
    ]
    _end(
        push,
        status=PushStatus.DONE,
        rows=job.rows,
        totals=msgspec.to_builtins(totals),
        cost_import=job,
        error="",
    )


def _plain(amount: str) -> str:
    """Return a number as text without trailing zeros: 10.5."""
    return format(Decimal(amount).normalize(Context(prec=60)), "f")


def _fail_or_wait(push: CostPush, error: UserError) -> None:
    if disk.low_disk():  # queued again, as if it had not started
        _fence.row(push).update(status=PushStatus.QUEUED, attempts=push.attempts - 1)
    elif _fence.row(push).exists():
        _end(push, status=PushStatus.FAILED, error=error.message)


@transaction.atomic
def _end(push: CostPush, **values: object) -> None:
    _fence.update(push, finished_at=clock.now(), **values)
    if values["status"] == PushStatus.FAILED:
        notify(
            account=push.account,
            kind=Notification.Kind.PUSH,
            title=f"Push of {dates.long_month(push.month)} to {push.source.name} failed",
            text=str(values["error"]),
            path=page_path(push.account, "connection", source_id=push.source_id),
            key=str(push.pk),
        )


@contextmanager
def _claim_push(push_id: int) -> Iterator[CostPush | None]:
    """Return the push, marked as running by this process; None if it has ended, waits for an earlier push, or another
    process imports into its source."""
    # Unscoped: a worker names the row itself.
    row = CostPush.objects.unscoped().select_related("source").filter(pk=push_id).first()
    if row is None or row.status not in UNFINISHED_STATUSES:
        yield None
        return
    with advisory_lock(f"cost pushes of source {row.source_id}") as has_lock:
        is_free = has_lock and cancel_abandoned_syncs(row.source)
        yield _begin(push_id) if is_free else None


@transaction.atomic
def _begin(push_id: int) -> CostPush | None:
    # Unscoped: a worker names the row itself.
    rows = CostPush.objects.unscoped().filter(status__in=UNFINISHED_STATUSES)
    locked = rows.select_related("account", "source").select_for_update(of=("self",))
    push = locked.filter(pk=push_id).first()
    if push is None:
        return None
    first = rows.filter(source=push.source_id).order_by("committed_at", "pk").first()
    if first is None or first.pk != push.pk:
        return None
    push.status, push.attempts = PushStatus.RUNNING, push.attempts + 1
    push.save(update_fields=["status", "attempts"])
    return push


def _ask_next(push: CostPush) -> None:
    # Unscoped: the source belongs to one account.
    rows = CostPush.objects.unscoped().filter(source_id=push.source_id, status=PushStatus.QUEUED)
    following = rows.order_by("committed_at", "pk").first()
    if following is not None:
        publish(RUN_TASK, following.account_id, following.pk, expires=MESSAGE_SECONDS)
