"""Importing FOCUS files: queued by an upload, run by a worker or a command, all of a file or nothing of it."""

from __future__ import annotations

import logging
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from celery import current_app
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from kombu.exceptions import OperationalError

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.focus.errors import printable
from finops.costs.focus.header import check_defaults
from finops.costs.focus.normalise import FocusFile, Normalised, normalise
from finops.costs.focus.spool import MonthRows
from finops.costs.models import (
    DEFAULT_ACTOR_TAG_KEYS,
    ContractCommitment,
    CostImport,
    CostSource,
    CostView,
)
from finops.costs.services import claims
from finops.lake import segments
from finops.lake.schema import Kind
from finops.lake.segments import NewSegment
from finops.lib import clock
from finops.lib.errors import UserError

logger = logging.getLogger(__name__)

RUN_TASK: Final = "costs.run_import"
TELL_EVERY: Final = 0.4
"""Seconds between two updates of an import's progress."""

UPLOADS_STAY: Final = timedelta(days=1)
"""An upload without an import is of a request that died; it may still be arriving."""

Told = Callable[[CostImport], None]


def queue_import(
    *,
    source: CostSource,
    uploads: Sequence[UploadedFile[Any]],
    actor: Actor,
    defaults: Mapping[str, str] | None = None,
) -> CostImport:
    """Keep uploaded files and ask the worker to import them into `source`, together.

    `defaults` are values for columns that the files lack. Raises UserError for no file, or a default for a column
    that an import does not use; what is wrong inside a file is said by the import itself.
    """
    if not uploads:
        raise UserError("Choose at least one file to import.", field="files")
    checked = check_defaults(defaults or {})
    files = [_kept(upload) for upload in uploads]
    try:
        job = _create(source, files, checked, actor)
    except BaseException:
        _remove(files)
        raise
    transaction.on_commit(lambda: _ask_worker(job))
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
    told: Told | None = None,
) -> CostImport:
    """Import files that are on this machine, now and here, and return the finished import.

    The files stay. `told` is called with the import a few times a second. Imports into the source that wait are
    run first. Raises UserError when the files cannot be imported, which leaves everything as it was.
    """
    if source.account_id != account.pk:
        raise ValueError("The source belongs to another account.")
    checked = check_defaults(defaults or {})
    files = [_local(path) for path in paths]
    with claims.created(lambda: _create(source, files, checked, actor)) as job:
        for earlier in claims.earlier_unfinished(job):
            run_import(earlier)
        if not run_import(job.pk, told=told):
            _fail(job, f"Another import into {source.name} is running. Try again when it has finished.")
    # Unscoped: the row was made above.
    job = CostImport.objects.unscoped().get(pk=job.pk)
    if job.status == CostImport.Status.FAILED:
        raise UserError(job.error)
    return job


def run_import(import_id: int, *, told: Told | None = None) -> bool:
    """Do a queued import, or take up one whose process died. False when it is not ours to do now.

    Safe to call twice, at once, and after kill -9 at any moment: what an attempt leaves behind is not visible, and
    the last step is one transaction. A failure is kept in the import's `error`.
    """
    with claims.claimed(import_id) as job:
        if job is None:
            return False
        with account_scope(job.account):
            _attempt(job, told)
    if job.pk not in {one.pk for one in claims.unfinished()}:
        _remove(job.files)
    _ask_next(job)
    return True


def due_imports() -> list[CostImport]:
    """Imports that some worker should look at: queued ones, and running ones whose process may have died."""
    return claims.unfinished()


def remove_forgotten_uploads() -> int:
    """Remove uploads older than a day that no unfinished import names; how many went."""
    wanted = {file["path"] for job in claims.unfinished() for file in job.files}
    oldest = (clock.now() - UPLOADS_STAY).timestamp()
    count = 0
    kept = {str(_uploads()), str(_work()), *wanted}
    for path in (path for folder in (_uploads(), _work(), _uploads().parent) for path in folder.iterdir()):
        if str(path) not in kept and path.stat().st_mtime < oldest:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            count += 1
    return count


def _attempt(job: CostImport, told: Told | None) -> None:
    if job.attempts > claims.MAX_ATTEMPTS:
        _fail(
            job,
            "The import was interrupted three times, the last time while " + (job.stage or "reading") + ".",
        )
        return
    for left in _work().glob(f"{job.pk}-*"):
        shutil.rmtree(left)
    folder = _work() / f"{job.pk}-{job.attempts}"
    folder.mkdir()
    try:
        _import(job, folder, _Progress(job, told))
    except claims.Lost:
        logger.warning("costs: import %s is run by another process now", job.pk)
    except UserError as error:
        _fail(job, error.message)
    except Exception:
        _fail(job, "Something went wrong while importing; nothing was changed. The server's log says what.")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _import(job: CostImport, folder: Path, progress: _Progress) -> None:
    found = normalise(
        [FocusFile(Path(file["path"]), file["name"]) for file in job.files],
        folder=folder,
        source_id=str(job.source_id),
        defaults=job.defaults,
        actor_tag_keys=_actor_tag_keys(),
        progress=progress.read,
    )
    written: list[NewSegment] = []
    try:
        for month in found.months:
            progress.stage(f"writing {month.month:%Y-%m}")
            written.append(_write(job, month, progress))
        _finish(job, found, written)
    except BaseException:
        segments.discard(written)
        raise
    progress.tell()


def _write(job: CostImport, month: MonthRows, progress: _Progress) -> NewSegment:
    return segments.write_segment(
        account_id=job.account_id,
        kind=Kind.COST,
        source_id=job.source_id,
        month=month.month,
        batches=progress.alive(month.batches()),
        schema=month.schema,
    )


@transaction.atomic
def _finish(job: CostImport, found: Normalised, written: Sequence[NewSegment]) -> None:
    """Everything becomes visible here, or nothing."""
    months = [month.month for month in found.months]
    claims.update(
        job,
        status=CostImport.Status.DONE,
        stage="",
        bytes_done=job.bytes_total,
        rows=found.report.rows,
        months=[f"{month:%Y-%m}" for month in months],
        report=_as_json(found.report),
        error="",
        finished_at=clock.now(),
    )
    segments.swap_segments(
        account=job.account, kind=Kind.COST, source_id=job.source_id, months=months, new=written
    )
    if found.commitments is not None:
        _replace_commitments(job, found)
    audit.record(
        account=job.account,
        actor=Actor(label=job.actor_label, user=job.actor_user),
        action="cost_import.finish",
        target=f"{job.source.name}: {job.file_name}",
        detail={"rows": found.report.rows, "months": [f"{month:%Y-%m}" for month in months]},
    )


def _replace_commitments(job: CostImport, found: Normalised) -> None:
    ContractCommitment.objects.filter(source=job.source).delete()
    rows = (
        ContractCommitment(account=job.account, source=job.source, **msgspec.structs.asdict(commitment))
        for commitment in found.commitments or ()
    )
    ContractCommitment.objects.bulk_create(rows, batch_size=1_000)


@transaction.atomic
def _fail(job: CostImport, message: str) -> None:
    # Unscoped: a worker names the row itself.
    rows = CostImport.objects.unscoped().filter(pk=job.pk, attempts=job.attempts)
    unfinished = rows.exclude(status__in=[CostImport.Status.DONE, CostImport.Status.FAILED])
    if not unfinished.update(status=CostImport.Status.FAILED, error=message, finished_at=clock.now()):
        return
    audit.record(
        account=job.account,
        actor=Actor(label=job.actor_label, user=job.actor_user),
        action="cost_import.fail",
        target=f"{job.source.name}: {job.file_name}",
        detail={"error": message[:1_000]},
    )


class _Progress:
    """Writes how far an import is into its row, a few times a second at most."""

    def __init__(self, job: CostImport, told: Told | None) -> None:
        self._job = job
        self._told = told
        self._last = time.monotonic()

    def read(self, bytes_done: int, rows: int) -> None:
        self._job.bytes_done, self._job.rows = min(bytes_done, self._job.bytes_total), rows
        if time.monotonic() - self._last >= TELL_EVERY:
            self._keep()

    def stage(self, stage: str) -> None:
        self._job.stage = stage
        self._keep()

    def alive(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if time.monotonic() - self._last >= TELL_EVERY:
                self._keep()

    def tell(self) -> None:
        if self._told:
            self._told(self._job)

    def _keep(self) -> None:
        self._last = time.monotonic()
        job = self._job
        claims.update(
            job, stage=job.stage, bytes_done=job.bytes_done, rows=job.rows, heartbeat_at=clock.now()
        )
        self.tell()


@transaction.atomic
def _create(
    source: CostSource, files: list[dict[str, Any]], defaults: dict[str, str], actor: Actor
) -> CostImport:
    job = CostImport(
        account=source.account,
        source=source,
        file_name=", ".join(file["name"] for file in files)[:255],
        files=files,
        defaults=defaults,
        actor_label=actor.label[:254],
        actor_user=actor.user,
        bytes_total=sum(file["bytes"] for file in files),
    )
    job.save(force_insert=True)
    audit.record(
        account=source.account,
        actor=actor,
        action="cost_import.queue",
        target=f"{source.name}: {job.file_name}",
        detail={"bytes": job.bytes_total, "values_for_missing_columns": defaults},
    )
    return job


def _actor_tag_keys() -> Sequence[str]:
    view = CostView.objects.first()
    return view.actor_tag_keys if view else DEFAULT_ACTOR_TAG_KEYS


def _as_json(report: Any) -> Any:
    return msgspec.to_builtins(report, builtin_types=())


def _kept(upload: UploadedFile[Any]) -> dict[str, Any]:
    """An upload under a name of ours. One that Django streamed to disk is moved, not copied."""
    path = _uploads() / uuid.uuid4().hex
    temporary = getattr(upload, "temporary_file_path", None)
    if temporary is not None:
        shutil.move(temporary(), path)
    else:
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
    name = printable(Path(upload.name or "upload").name)
    return {"name": name[:200], "path": str(path), "bytes": path.stat().st_size, "remove": True}


def _local(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(f"There is no file {path}.", field="files", value=str(path))
    whole = path.absolute()
    return {
        "name": printable(whole.name)[:200],
        "path": str(whole),
        "bytes": whole.stat().st_size,
        "remove": False,
    }


def _remove(files: Sequence[Mapping[str, Any]]) -> None:
    for file in files:
        if file["remove"]:
            Path(file["path"]).unlink(missing_ok=True)


def _uploads() -> Path:
    return _folder("imports-waiting")


def _work() -> Path:
    return _folder("imports-running")


def _folder(name: str) -> Path:
    folder = Path(settings.VAR_DIR) / "uploads" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _ask_next(job: CostImport) -> None:
    # Unscoped: the source belongs to one account.
    waiting = CostImport.objects.unscoped().filter(
        source_id=job.source_id, status=CostImport.Status.QUEUED, pk__gt=job.pk
    )
    following = waiting.order_by("pk").first()
    if following is not None:
        _ask_worker(following)


def _ask_worker(job: CostImport) -> None:
    """Tell a worker now; beat would within a minute. So a broker that is away is no failure."""
    try:
        current_app.send_task(RUN_TASK, args=[job.account_id, job.pk], expires=3600)
    except (OperationalError, OSError):
        logger.warning("costs: no broker for import %s; beat will ask for it", job.pk)
