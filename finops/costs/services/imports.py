"""Imports of FOCUS files: queued by an upload, run by a worker or a command. A file is imported as a whole or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.db import connection, transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.focus.formats import AUTOMATIC, FormatChoice
from finops.costs.focus.header import check_defaults
from finops.costs.import_decision import Decision
from finops.costs.models import (
    CostImport,
    CostSource,
)
from finops.costs.services import attempts, claims, files
from finops.costs.services.import_commit import as_json
from finops.costs.services.import_reading import ProgressCallback
from finops.lib import disk
from finops.lib.errors import UserError
from finops.lib.jobs import count_outcome
from finops.lib.telemetry import metrics
from finops.worker.broker import publish


class NeedsReview(UserError):
    """A command's import changes too much to run without a decision. Nothing was changed; `job.report` has the
    changes."""

    def __init__(self, job: CostImport) -> None:
        super().__init__(job.error)
        self.job = job


RUN_TASK: Final = "costs.run_import"
_NO_FILE: Final = "no file"
"""The name of a sync's import of a month without a file."""


def queue_import(
    *,
    source: CostSource,
    uploads: Sequence[UploadedFile[Any]],
    actor: Actor,
    defaults: Mapping[str, str] | None = None,
    formats: FormatChoice = AUTOMATIC,
) -> CostImport:
    """Store uploaded files and queue one import of all of them into `source`.

    `defaults` are values for columns that the files lack, `formats` the formats of their numbers and dates. Raises
    UserError for no file, for a default for a column that an import does not use, and if the account has the maximum
    of waiting and running imports. Errors inside a file are reported by the import itself.
    """
    if not uploads:
        raise UserError("Choose at least one file to import.", field="files")
    checked = check_defaults(defaults or {})
    disk.check_disk()
    stored_files = [files.store_upload(upload) for upload in uploads]
    try:
        job = _create_within_limit(source, stored_files, checked, actor, formats)
    except BaseException:
        files.remove(stored_files)
        raise
    transaction.on_commit(lambda: ask_worker(job))
    return job


_WITHOUT_EFFECT: Final = (CostImport.Status.FAILED, CostImport.Status.DISCARDED, CostImport.Status.CANCELED)


def retry_import(*, job: CostImport, actor: Actor) -> CostImport:
    """Import the files of a failed upload again, as a new import that takes them over.

    Raises UserError for an import that has not failed or is no upload, for deleted files, if a later import into the
    source is done or pending, which the older files would replace, and as `queue_import`.
    """
    with transaction.atomic():
        # Unscoped: the row is named.
        rows = CostImport.objects.unscoped().select_related("source", "account")
        row = rows.select_for_update(of=("self",)).get(pk=job.pk)
        if row.status != CostImport.Status.FAILED:
            raise UserError("This import has not failed.")
        if row.origin != CostImport.Origin.UPLOAD:
            raise UserError("Only uploads can be retried. Sync or push the month again.")
        if not row.files or not all(Path(file["path"]).is_file() for file in row.files):
            raise UserError("The files of this import are no longer stored. Upload them again.")
        later = rows.filter(source=row.source, pk__gt=row.pk).exclude(status__in=_WITHOUT_EFFECT)
        if later.exists():
            raise UserError(
                "A later import into this source is done or not finished. Upload the files again."
            )
        disk.check_disk()
        formats = FormatChoice.of(row.number_format, row.date_order)
        new = _create_within_limit(row.source, row.files, row.defaults, actor, formats)
        CostImport.objects.unscoped().filter(pk=row.pk).update(files=[])
        transaction.on_commit(lambda: ask_worker(new))
    return new


def import_files(
    *,
    account: Account,
    source: CostSource,
    paths: Sequence[Path],
    actor: Actor,
    defaults: Mapping[str, str] | None = None,
    formats: FormatChoice = AUTOMATIC,
    on_progress: ProgressCallback | None = None,
    origin: CostImport.Origin = CostImport.Origin.SYNC,
    decision: Decision | None = None,
    in_child: bool = False,
) -> CostImport:
    """Import files of this machine synchronously and return the finished import.

    The files stay. `on_progress` is called with the import a few times a second, once a second with `in_child`, which
    is as for `run_import`, for untrusted files. Queued imports into the source run first. Raises UserError when the
    files cannot be imported; nothing is changed then. An import that needs review continues with a warning in the
    report when `origin` is a sync; a command is refused with NeedsReview unless `decision` is given.
    """
    if source.account_id != account.pk:
        raise ValueError("The source belongs to another account.")
    checked = check_defaults(defaults or {})
    disk.check_disk()
    local_files = [files.local_file(path) for path in paths]
    with claims.create_with_claim(
        lambda: _create(
            source, local_files, checked, actor, formats=formats, origin=origin, decision=decision
        )
    ) as job:
        for earlier in claims.earlier_open_imports(job):
            run_import(earlier, in_child=in_child)
        while job.status in (
            CostImport.Status.QUEUED,
            CostImport.Status.RUNNING,
        ):  # runs again if the child process died
            if not run_import(job.pk, on_progress=on_progress, in_child=in_child):
                waits_for = (
                    f"Another import into {source.name} is in progress. Try again when it has finished."
                )
                attempts.fail(job, disk.low_disk() or waits_for)
            # Unscoped: the row was created above.
            job = CostImport.objects.unscoped().get(pk=job.pk)
    if job.status == CostImport.Status.FAILED:
        raise NeedsReview(job) if job.report.get("reviews") else UserError(job.error)
    return job


def run_import(
    import_id: int, *, on_progress: ProgressCallback | None = None, in_child: bool = False
) -> bool:
    """Run a queued import, or resume one whose process died. False when it is not available.

    Safe to call repeatedly, concurrently, and after kill -9 at any moment: an unfinished attempt has no visible
    effect, and the last step is one transaction. A failure is stored in the import's `error`. With `in_child` the
    files are read in a separate process, which may end in any way: too much memory fails this import, and so does any
    other end at the third attempt. While disk space is low, an import waits.
    """
    if disk.low_disk():
        return False
    with claims.claim_import(import_id) as job:
        if job is None:
            return False
        # Unscoped: the queue names the row.
        rows = CostImport.objects.unscoped().filter(pk=job.pk)
        with account_scope(job.account), count_outcome(metrics.IMPORTS, rows):
            # Other processes cannot read the rows of an open transaction.
            attempts.run_attempt(job, on_progress, in_child=in_child and not connection.in_atomic_block)
    if job.pk not in {needed.pk for needed in claims.imports_with_files()}:
        job.refresh_from_db(fields=["files"])  # the files of an archive replace the archive
        files.remove(job.files)
    ask_next(job)
    return True


@transaction.atomic
def _create_within_limit(
    source: CostSource,
    stored_files: list[dict[str, Any]],
    defaults: dict[str, str],
    actor: Actor,
    formats: FormatChoice,
) -> CostImport:
    # Writers wait for each other, so that the count is valid until the commit.
    Account.objects.select_for_update(no_key=True).get(pk=source.account_id)
    claims.check_import_limit(account=source.account)
    return _create(source, stored_files, defaults, actor, formats=formats)


def due_imports() -> list[tuple[int, int]]:
    """Return account and id of imports that a worker should try: queued ones, and running ones whose process may have
    died; oldest first."""
    return [(job.account_id, job.pk) for job in claims.unfinished_imports()]


@transaction.atomic
def _create(
    source: CostSource,
    stored_files: list[dict[str, Any]],
    defaults: dict[str, str],
    actor: Actor,
    *,
    formats: FormatChoice,
    origin: CostImport.Origin = CostImport.Origin.UPLOAD,
    decision: Decision | None = None,
) -> CostImport:
    job = CostImport(
        account=source.account,
        source=source,
        file_name=", ".join(file["name"] for file in stored_files)[:255] or _NO_FILE,
        files=stored_files,
        defaults=defaults,
        origin=origin,
        decision=as_json(decision) if decision else {},
        number_format=formats.numbers or "",
        date_order=formats.dates or "",
        actor_label=actor.label[:254],
        actor_user=actor.user,
        bytes_total=sum(file["bytes"] for file in stored_files),
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


def ask_next(job: CostImport) -> None:
    """Notify a worker of the import that waited for this one, if any."""
    # Unscoped: the source belongs to one account.
    queued = CostImport.objects.unscoped().filter(
        source_id=job.source_id, status=CostImport.Status.QUEUED, pk__gt=job.pk
    )
    following = queued.order_by("pk").first()
    if following is not None:
        ask_worker(following)


def ask_worker(job: CostImport) -> None:
    """Notify a worker now; beat would within a minute, so an unavailable broker is no failure."""
    publish(RUN_TASK, job.account_id, job.pk, expires=3600)
