"""One attempt at an import that is claimed: here, or in a child process whose memory has an end (ADR 0028)."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.scoping import account_scope
from finops.costs.focus.formats import Chosen
from finops.costs.focus.normalise import FocusFile, normalise
from finops.costs.focus.spool import MonthRows
from finops.costs.models import DEFAULT_ACTOR_TAG_KEYS, CostImport, CostView
from finops.costs.services import claims, files
from finops.costs.services.completeness import refresh_completeness
from finops.costs.services.content import check_different, hashing
from finops.costs.services.overlaps import find_overlaps
from finops.costs.services.progress import Progress, Told
from finops.costs.services.settling import decision_of, settle
from finops.lake import segments
from finops.lake.schema import Kind
from finops.lake.segments import NewSegment
from finops.lib import children, clock, disk
from finops.lib.children import End
from finops.lib.errors import UserError
from finops.lib.jobs import Canceled, Clock

logger = logging.getLogger(__name__)

_DIED: Final = "The process that imported it ended three times by itself, the last time while {stage} ({cause}). Nothing was changed."


def run_attempt_in_child(job: CostImport, told: Told | None) -> None:
    """`run_attempt` in a process of its own, which may end as it likes."""
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
        name=f"cost import {job.pk}",
        is_wanted=is_wanted,
    )
    _remove_work(job)
    if ending.end is End.ENDED and claims.is_canceled(job):
        _cancel(job)
    elif ending.end is End.ENDED and limit.is_over:
        fail(job, limit.sentence("import"))
    elif ending.end is not End.DONE and claims.is_ours(job):
        job.refresh_from_db(fields=["stage"])
        logger.warning("costs: the child of import %s ended: %s, %s", job.pk, ending.end.value, ending.cause)
        if ending.end is End.MEMORY:
            fail(job, too_much_memory(job.stage))
        elif _attempts_of(job) >= claims.MAX_ATTEMPTS:
            fail(job, _DIED.format(stage=job.stage, cause=ending.cause))


def attempt(import_id: int, attempt_number: int) -> None:
    """In a child: the attempt that its parent has claimed."""
    # Unscoped: the parent names the row.
    rows = CostImport.objects.unscoped().select_related("account", "source")
    job = rows.filter(pk=import_id, attempts=attempt_number, status=CostImport.Status.RUNNING).first()
    if job is not None:
        with account_scope(job.account):
            run_attempt(job, None)


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
    fail(job, f"The import was interrupted three times, the last time while {job.stage or 'reading'}.")
    return True


def run_attempt(job: CostImport, told: Told | None) -> None:
    """Import the files of a job that is claimed; a failure is kept in its row. `told` is called as it goes on."""
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
        fail(job, too_much_memory(job.stage))
    except Exception:
        fail(job, "Something went wrong while importing; nothing was changed. The server's log says what.")
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
        fail(job, error.message)


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
def fail(job: CostImport, message: str) -> None:
    """End the import with this sentence, if it has not ended."""
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


def _actor_tag_keys() -> Sequence[str]:
    view = CostView.objects.first()
    return view.actor_tag_keys if view else DEFAULT_ACTOR_TAG_KEYS
