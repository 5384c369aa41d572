"""Importing FOCUS files: queued by an upload, run by a worker or a command, all of a file or nothing of it."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.db import connection, transaction
from kombu.exceptions import OperationalError

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.celery import app
from finops.costs.focus.formats import AUTOMATIC, Chosen
from finops.costs.focus.header import check_defaults
from finops.costs.focus.normalise import FocusFile, normalise
from finops.costs.focus.spool import MonthRows
from finops.costs.models import (
    DEFAULT_ACTOR_TAG_KEYS,
    CostImport,
    CostSource,
    CostView,
)
from finops.costs.replacing import Decision
from finops.costs.services import claims, files
from finops.costs.services.completeness import refresh_completeness
from finops.costs.services.content import check_different, hashing
from finops.costs.services.overlaps import find_overlaps
from finops.costs.services.progress import Progress, Told
from finops.costs.services.settling import as_json, decision_of, settle
from finops.lake import segments
from finops.lake.schema import Kind
from finops.lake.segments import NewSegment
from finops.lib import children, clock, disk
from finops.lib.children import End
from finops.lib.errors import UserError
from finops.lib.jobs import Canceled, Clock

logger = logging.getLogger(__name__)


class NeedsReview(UserError):
    """An import of a command that changes too much to be done unasked. Nothing was changed; `job.report` says what
    would be."""

    def __init__(self, job: CostImport) -> None:
        super().__init__(job.error)
        self.job = job


RUN_TASK: Final = "costs.run_import"


def queue_import(
    *,
    source: CostSource,
    uploads: Sequence[UploadedFile[Any]],
    actor: Actor,
    defaults: Mapping[str, str] | None = None,
    formats: Chosen = AUTOMATIC,
) -> CostImport:
    """Keep uploaded files and ask the worker to import them into `source`, together.

    `defaults` are values for columns that the files lack, `formats` how they write numbers and dates. Raises UserError for no file, for a default for a column
    that an import does not use, and while as many imports of the account wait and run as may; what is wrong inside a file is said by the import itself.
    """
    if not uploads:
        raise UserError("Choose at least one file to import.", field="files")
    checked = check_defaults(defaults or {})
    disk.check_disk()
    kept = [files.kept(upload) for upload in uploads]
    try:
        job = _create_where_room(source, kept, checked, actor, formats)
    except BaseException:
        files.remove(kept)
        raise
    transaction.on_commit(lambda: ask_worker(job))
    return job


def import_file(
    *,
    account: Account,
    source: CostSource,
    path: Path,
    actor: Actor,
    defaults: Mapping[str, str] | None = None,
) -> CostImport:
    """`import_files` of one file."""
    return import_files(account=account, source=source, paths=[path], actor=actor, defaults=defaults)


def import_files(
    *,
    account: Account,
    source: CostSource,
    paths: Sequence[Path],
    actor: Actor,
    defaults: Mapping[str, str] | None = None,
    formats: Chosen = AUTOMATIC,
    told: Told | None = None,
    origin: CostImport.Origin = CostImport.Origin.SYNC,
    decision: Decision | None = None,
    in_child: bool = False,
) -> CostImport:
    """Import files that are on this machine, now and here, and return the finished import.

    The files stay. `told` is called with the import a few times a second. `in_child` is `run_import`'s, for files of
    strangers. Imports into the source that are queued are run first. Raises UserError when the files cannot be imported, which leaves everything as it was. What needs review
    goes on with a warning in the report when `origin` is a sync; of a command it is refused with NeedsReview unless
    `decision` says what to do.
    """
    if source.account_id != account.pk:
        raise ValueError("The source belongs to another account.")
    checked = check_defaults(defaults or {})
    disk.check_disk()
    local = [files.local(path) for path in paths]
    with claims.created(
        lambda: _create(source, local, checked, actor, formats=formats, origin=origin, decision=decision)
    ) as job:
        for earlier in claims.earlier_unfinished(job):
            run_import(earlier, in_child=in_child)
        while job.status in (
            CostImport.Status.QUEUED,
            CostImport.Status.RUNNING,
        ):  # again where its child died
            if not run_import(job.pk, told=told, in_child=in_child):
                _fail(job, f"Another import into {source.name} is running. Try again when it has finished.")
            # Unscoped: the row was made above.
            job = CostImport.objects.unscoped().get(pk=job.pk)
    if job.status == CostImport.Status.FAILED:
        raise NeedsReview(job) if job.report.get("reviews") else UserError(job.error)
    return job


def run_import(import_id: int, *, told: Told | None = None, in_child: bool = False) -> bool:
    """Do a queued import, or take up one whose process died. False when it is not ours to do now.

    Safe to call twice, at once, and after kill -9 at any moment: what an attempt leaves behind is not visible, and
    the last step is one transaction. A failure is kept in the import's `error`. With `in_child` the files are read in
    a process of their own, which may end as it likes: too much memory is this import's failure, and any other end too
    when it was the third. While there is little room on disk, an import waits.
    """
    if disk.low_disk():
        return False
    with claims.claimed(import_id) as job:
        if job is None:
            return False
        with account_scope(job.account):
            # What an open transaction has written, no other process sees.
            if in_child and not connection.in_atomic_block:
                _attempt_in_child(job, told)
            else:
                _attempt(job, told)
    if job.pk not in {one.pk for one in (*claims.unfinished(), *claims.waiting())}:
        files.remove(job.files)
    ask_next(job)
    return True


@transaction.atomic
def _create_where_room(
    source: CostSource,
    kept: list[dict[str, Any]],
    defaults: dict[str, str],
    actor: Actor,
    formats: Chosen,
) -> CostImport:
    # Writers wait for each other, so that the count holds until the commit.
    Account.objects.select_for_update(no_key=True).get(pk=source.account_id)
    claims.check_import_room(account=source.account)
    return _create(source, kept, defaults, actor, formats=formats)


def due_imports() -> list[tuple[int, int]]:
    """Account and id of imports that some worker should look at: queued ones, and running ones whose process may have
    died; the oldest first."""
    return [(job.account_id, job.pk) for job in claims.unfinished()]


def end_import_process(import_id: int) -> bool:
    """Kill the child in which this process runs the import; False when it runs none. Whoever calls it says in the row
    why: an import that is still running there is taken up again within a minute, twice at most."""
    return children.end(_child_name(import_id))


_DIED: Final = "The process that imported it ended three times by itself, the last time while {stage} ({cause}). Nothing was changed."


def _child_name(import_id: int) -> str:
    return f"cost import {import_id}"


def _attempt_in_child(job: CostImport, told: Told | None) -> None:
    if _refuse_interrupted(job):
        return
    limit = Clock()

    def is_wanted() -> bool:
        if told:
            job.refresh_from_db(fields=["stage", "bytes_done", "rows"])
            told(job)
        return claims.is_wanted(job) and not limit.is_over

    ending = children.run(
        f"{__name__}.attempt",
        job.pk,
        job.attempts,
        name=_child_name(job.pk),
        wanted=is_wanted,
    )
    _remove_work(job)
    if ending.end is End.ENDED and claims.is_canceled(job):
        _cancel(job)
    elif ending.end is End.ENDED and limit.is_over:
        _fail(job, limit.sentence("import"))
    elif ending.end is not End.DONE and claims.is_ours(job):
        job.refresh_from_db(fields=["stage"])
        logger.warning("costs: the child of import %s ended: %s, %s", job.pk, ending.end.value, ending.cause)
        if ending.end is End.MEMORY:
            _fail(job, too_much_memory(job.stage))
        elif _attempts_of(job) >= claims.MAX_ATTEMPTS:
            _fail(job, _DIED.format(stage=job.stage, cause=ending.cause))


def attempt(import_id: int, attempt_number: int) -> None:
    """In a child: the attempt that its parent has claimed."""
    # Unscoped: the parent names the row.
    rows = CostImport.objects.unscoped().select_related("account", "source")
    job = rows.filter(pk=import_id, attempts=attempt_number, status=CostImport.Status.RUNNING).first()
    if job is not None:
        with account_scope(job.account):
            _attempt(job, None)


def too_much_memory(stage: str) -> str:
    limit = children.memory_limit() >> 20
    return (
        f"The import was stopped while {stage}, because it took more than {limit:,} MB of memory; nothing was changed. "
        "Bills of any length take less: look for values or lists of unusual size, or split the file."
    )


def _attempts_of(job: CostImport) -> int:
    """Attempts since somebody last decided about it."""
    decision = decision_of(job)
    return job.attempts - (decision.attempts if decision else 0)


def _refuse_interrupted(job: CostImport) -> bool:
    if _attempts_of(job) <= claims.MAX_ATTEMPTS:
        return False
    _fail(job, f"The import was interrupted three times, the last time while {job.stage or 'reading'}.")
    return True


def _attempt(job: CostImport, told: Told | None) -> None:
    if _refuse_interrupted(job):
        return
    if job.cancel_requested_at is not None:  # while nobody ran it
        _cancel(job)
        return
    _remove_work(job)
    folder = files.work() / f"{job.pk}-{job.attempts}"
    folder.mkdir()
    try:
        _import(job, folder, Progress(job, told))
    except Canceled:
        _cancel(job)
    except claims.Lost:
        logger.warning("costs: import %s is run by another process now", job.pk)
    except UserError as error:
        _wait_or_fail(job, error)
    except MemoryError:  # pyarrow's too
        _fail(job, too_much_memory(job.stage))
    except Exception:
        _fail(job, "Something went wrong while importing; nothing was changed. The server's log says what.")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_work(job: CostImport) -> None:
    """What an attempt that was killed has left."""
    for left in files.work().glob(f"{job.pk}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _wait_or_fail(job: CostImport, error: UserError) -> None:
    if isinstance(error, disk.LowDisk) and job.origin == CostImport.Origin.UPLOAD:
        # As if it had not begun; what somebody waits for at a terminal fails instead.
        claims.update(job, status=CostImport.Status.QUEUED, stage="", attempts=job.attempts - 1)
    else:
        _fail(job, error.message)


def _import(job: CostImport, folder: Path, progress: Progress) -> None:
    paths, names = [Path(file["path"]) for file in job.files], [file["name"] for file in job.files]
    with hashing(paths) as hashes:
        found = normalise(
            [FocusFile(path, name) for path, name in zip(paths, names, strict=True)],
            folder=folder,
            source_id=str(job.source_id),
            defaults=job.defaults,
            actor_tag_keys=_actor_tag_keys(),
            chosen=Chosen.of(job.number_format, job.date_order),
            progress=progress.read,
        )
        written: list[NewSegment] = []
        try:
            for month in found.months:
                progress.stage(f"writing {month.month:%Y-%m}")
                written.append(_write(job, month, progress))
            contents = [text or content for text, content in zip(found.text_hashes, hashes, strict=True)]
            check_different(names, contents)
            settled = settle(job, found, written, contents)
        except BaseException:
            segments.discard(written)
            raise
    if settled:
        refresh_completeness(job.source)
        find_overlaps(job.source)
    else:
        segments.discard(written)
    progress.tell()


def _write(job: CostImport, month: MonthRows, progress: Progress) -> NewSegment:
    return segments.write_segment(
        account_id=job.account_id,
        kind=Kind.COST,
        source_id=job.source_id,
        month=month.month,
        batches=progress.alive(month.batches()),
        schema=month.schema,
    )


@transaction.atomic
def _fail(job: CostImport, message: str) -> None:
    if not _ended(job, status=CostImport.Status.FAILED, error=message):
        return
    audit.record(
        account=job.account,
        actor=Actor(label=job.actor_label, user=job.actor_user),
        action="cost_import.fail",
        target=f"{job.source.name}: {job.file_name}",
        detail={"error": message[:1_000]},
    )


def _cancel(job: CostImport) -> None:
    """Who canceled it is in the audit log since then."""
    _ended(job, status=CostImport.Status.CANCELED)


def _ended(job: CostImport, **values: object) -> bool:
    # Unscoped: a worker names the row itself.
    rows = CostImport.objects.unscoped().filter(pk=job.pk, attempts=job.attempts)
    unfinished = rows.filter(status__in=[CostImport.Status.QUEUED, CostImport.Status.RUNNING])
    return bool(unfinished.update(finished_at=clock.now(), **values))


@transaction.atomic
def _create(
    source: CostSource,
    chosen: list[dict[str, Any]],
    defaults: dict[str, str],
    actor: Actor,
    *,
    formats: Chosen,
    origin: CostImport.Origin = CostImport.Origin.UPLOAD,
    decision: Decision | None = None,
) -> CostImport:
    job = CostImport(
        account=source.account,
        source=source,
        file_name=", ".join(file["name"] for file in chosen)[:255],
        files=chosen,
        defaults=defaults,
        origin=origin,
        decision=as_json(decision) if decision else {},
        number_format=formats.numbers or "",
        date_order=formats.dates or "",
        actor_label=actor.label[:254],
        actor_user=actor.user,
        bytes_total=sum(file["bytes"] for file in chosen),
    )
    job.save(force_insert=True)
    audit.record(
        account=source.account,
        actor=actor,
        action="cost_import.queue",
        target=f"{source.name}: {job.file_name}",
        detail={
            "bytes": job.bytes_total,
            "values_for_missing_columns": defaults,
            "number_format": job.number_format,
            "date_order": job.date_order,
        },
    )
    return job


def _actor_tag_keys() -> Sequence[str]:
    view = CostView.objects.first()
    return view.actor_tag_keys if view else DEFAULT_ACTOR_TAG_KEYS


def ask_next(job: CostImport) -> None:
    """Ask for the import that waited for this one, if one did."""
    # Unscoped: the source belongs to one account.
    waiting = CostImport.objects.unscoped().filter(
        source_id=job.source_id, status=CostImport.Status.QUEUED, pk__gt=job.pk
    )
    following = waiting.order_by("pk").first()
    if following is not None:
        ask_worker(following)


def ask_worker(job: CostImport) -> None:
    """Tell a worker now; beat would within a minute. So a broker that is away is no failure."""
    try:
        app.send_task(RUN_TASK, args=[job.account_id, job.pk], expires=3600)
    except (OperationalError, OSError):
        logger.warning("costs: no broker for import %s; beat will ask for it", job.pk)
