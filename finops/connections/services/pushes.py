"""A billing month pushed by a program: opened, stored in parts, committed as one; `push_run` imports it.

Each step is one transaction that locks the push. Files are stored beside it: a part counts once its row exists.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.models import CostPush, CostPushPart, month_name
from finops.connections.push_files import PartFormat, detect_format, has_rows
from finops.connections.services import push_folders
from finops.connections.services.cost_keys import CostCredential, lock_living_key
from finops.costs.models import CostSource
from finops.costs.services.files import content_hash
from finops.lib import clock, disk
from finops.lib.errors import UserError
from finops.lib.sentences import join_with_and
from finops.worker.broker import publish

RUN_TASK: Final = "connections.run_push"
MESSAGE_SECONDS: Final = 3600

OPEN_TIME: Final = timedelta(hours=24)
MAX_OPEN: Final = 20
"""Maximum number of open pushes of a source, for clients that open pushes and never commit."""
MAX_UNFINISHED: Final = 100
"""Maximum number of committed pushes of a source that are queued or running."""
NAMED_PARTS: Final = 20
"""Number of missing parts named in an error."""

PushStatus = CostPush.PushStatus


class UnknownPush(Exception):
    """The source has no such push."""


class PushConflict(UserError):
    """The push is in the wrong state for the request, or incomplete."""


class PushTooLarge(UserError):
    """All parts together exceed the size limit of a push."""


@dataclass(frozen=True)
class PartFile:
    """A stored file of a part."""

    path: Path
    format: PartFormat
    content_hash: str


@transaction.atomic
def open_push(*, credential: CostCredential, month: date) -> CostPush:
    """Open a push of a billing month for a day. Raises PushConflict if the source has too many open pushes,
    RevokedCostKey for a revoked or replaced key."""
    lock_living_key(credential)
    with account_scope(credential.account):
        _lock_source(credential)
        open_count = CostPush.objects.filter(source=credential.source_id, status=PushStatus.OPEN).count()
        if open_count >= MAX_OPEN:
            raise PushConflict(f"{open_count} pushes of this source are open. Commit or cancel one of them.")
        return _create(credential, month, uuid.uuid4())


def store_part(
    *, credential: CostCredential, push_id: uuid.UUID, number: int, chunks: Iterable[bytes]
) -> CostPush:
    """Store a part of an open push; it replaces an earlier part with that number. An incomplete body stores nothing.

    Raises UnknownPush, PushConflict for a push that is not open, LowDisk, PushTooLarge, FocusFileError for an invalid
    part, RevokedCostKey for a revoked or replaced key.
    """
    with account_scope(credential.account):
        _check_open(_push_of(credential, push_id))
    disk.check_disk()
    return _keep_file(push_id, number, chunks, lambda part: _add_part(credential, push_id, number, part))


def push_month(*, credential: CostCredential, month: date, chunks: Iterable[bytes]) -> CostPush:
    """Open, store and commit a whole month in one body; atomic. Raises the errors of `store_part` and `commit_push`."""
    disk.check_disk()
    public_id = uuid.uuid4()

    @transaction.atomic
    def create(part: PartFile) -> CostPush:
        lock_living_key(credential)
        with account_scope(credential.account):
            _lock_source(credential)
            push = _create(credential, month, public_id)
            _save_part(push, 1, part)
            return _commit(credential, push, 1)

    try:
        return _keep_file(public_id, 1, chunks, create)
    except BaseException:
        push_folders.remove(public_id)
        raise


@transaction.atomic
def commit_push(*, credential: CostCredential, push_id: uuid.UUID, parts: int) -> CostPush:
    """Commit the parts 1 to `parts`, which replace the month of the source: a worker imports them, all or nothing. Idempotent.

    Raises UnknownPush; PushConflict if parts are missing, unexpected or have equal rows, for another number of parts than in the
    first commit, and for a push that ended without a commit; RevokedCostKey for a revoked or replaced key.
    """
    lock_living_key(credential)
    with account_scope(credential.account):
        _lock_source(credential)
        push = _push_of(credential, push_id, lock=True)
        if push.committed_parts == parts and push.status not in (PushStatus.CANCELED, PushStatus.EXPIRED):
            return push
        _check_open(push)
        _check_parts(push, parts)
        return _commit(credential, push, parts)


@transaction.atomic
def cancel_push(*, credential: CostCredential, push_id: uuid.UUID) -> CostPush:
    """Cancel a push that is not running yet; its parts are deleted. Idempotent. Raises UnknownPush; PushConflict for
    one that is running or has ended; RevokedCostKey for a revoked or replaced key."""
    lock_living_key(credential)
    with account_scope(credential.account):
        push = _push_of(credential, push_id, lock=True)
        _cancel(push, credential.account, credential.actor)
        return push


@transaction.atomic
def cancel_cost_push(*, push: CostPush, actor: Actor) -> CostPush:
    """Cancel a push as a person. Raises PushConflict for one that is running or has ended."""
    with account_scope(push.account):
        row = CostPush.objects.select_for_update(of=("self",)).get(pk=push.pk)
        _cancel(row, push.account, actor)
        return row


def _cancel(push: CostPush, account: Account, actor: Actor) -> None:
    if push.status == PushStatus.CANCELED:
        return
    if push.status not in (PushStatus.OPEN, PushStatus.QUEUED):
        raise PushConflict(f"This push is {push.status} and can no longer be canceled.")
    push.status, push.finished_at = PushStatus.CANCELED, clock.now()
    push.save(update_fields=["status", "finished_at"])
    _record(push, account, actor, "cancel")
    transaction.on_commit(lambda: push_folders.remove(push.public_id))


def expire_pushes() -> int:
    """Expire pushes that were open for a day, and remove files of ended pushes; returns the number of expired pushes."""
    # Unscoped: the sweep serves every account.
    due = CostPush.objects.unscoped().filter(status=PushStatus.OPEN, expires_at__lte=clock.now())
    error = "Not committed within 24 hours. Push the month again."
    count = due.update(status=PushStatus.EXPIRED, finished_at=clock.now(), error=error)
    push_folders.remove_forgotten()
    return count


def _keep_file(
    public_id: uuid.UUID,
    number: int,
    chunks: Iterable[bytes],
    keep: Callable[[PartFile], CostPush],
) -> CostPush:
    try:
        path = push_folders.store(public_id, number, chunks)
        try:
            return keep(PartFile(path, detect_format(path, f"Part {number}"), content_hash(path)))
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except FileNotFoundError as error:  # the folder was removed with the push
        raise PushConflict("The push ended while this part was sent. Open a new push.") from error


@transaction.atomic
def _add_part(credential: CostCredential, push_id: uuid.UUID, number: int, part: PartFile) -> CostPush:
    lock_living_key(credential)
    with account_scope(credential.account):
        push = _push_of(credential, push_id, lock=True)
        _check_open(push)
        _save_part(push, number, part)
        return push


def _save_part(push: CostPush, number: int, part: PartFile) -> None:
    rows = CostPushPart.objects.filter(push=push)
    size = part.path.stat().st_size
    other_bytes = rows.exclude(number=number).aggregate(bytes=Sum("bytes"))["bytes"] or 0
    if other_bytes + size > settings.UPLOAD_MAX_BYTES:
        raise PushTooLarge(
            f"The parts of this push have {other_bytes + size:,} bytes; the limit is {settings.UPLOAD_MAX_BYTES:,}. Send "
            "Parquet or CSV.gz."
        )
    before = rows.filter(number=number).values_list("file_name", flat=True).first()
    values = {
        "format": part.format.value,
        "bytes": size,
        "content_hash": part.content_hash,
        "file_name": part.path.name,
        "received_at": clock.now(),
    }
    rows.update_or_create(push=push, number=number, defaults={"account": push.account, **values})
    if before is not None:
        transaction.on_commit(lambda: part.path.with_name(before).unlink(missing_ok=True))


def _check_open(push: CostPush) -> None:
    """Check that the push is open. After its day an open push counts as expired, whether or not the sweep has run."""
    if push.status != PushStatus.OPEN:
        raise PushConflict(f"This push is {push.status} and can no longer be changed. Open a new push.")
    if push.expires_at <= clock.now():
        raise PushConflict("This push expired after 24 hours. Open a new push.")


def _check_parts(push: CostPush, parts: int) -> None:
    numbers = set(CostPushPart.objects.filter(push=push).values_list("number", flat=True))
    expected = set(range(1, parts + 1))
    if missing := sorted(expected - numbers):
        raise PushConflict(f"{_names(missing)} missing. Send the missing parts, then commit again.")
    if extra := sorted(numbers - expected):
        raise PushConflict(
            f"{_names(extra)} not in the commit. Commit with {max(numbers)} parts, or cancel the push."
        )
    _check_distinct(push)


def _check_distinct(push: CostPush) -> None:
    """Check that no two parts have the same rows, which is a mistake of the client that it can still correct. Parts
    without rows may be equal."""
    first_by_hash: dict[str, CostPushPart] = {}
    for part in CostPushPart.objects.filter(push=push).exclude(content_hash="").order_by("number"):
        first = first_by_hash.setdefault(part.content_hash, part)
        path = push_folders.folder_of(push.public_id) / part.file_name
        if first is not part and has_rows(path, PartFormat(part.format)):
            raise PushConflict(
                f"Parts {first.number} and {part.number} have the same content, which would count twice. Send part {part.number}"
                ' again with its own rows, or with {"rows": []}, then commit.'
            )


def _names(numbers: list[int]) -> str:
    names = [str(number) for number in numbers[:NAMED_PARTS]]
    if len(numbers) > NAMED_PARTS:
        names.append(f"{len(numbers) - NAMED_PARTS:,} more")
    return f"Part {names[0]} is" if len(names) == 1 else f"Parts {join_with_and(names)} are"


def _commit(credential: CostCredential, push: CostPush, parts: int) -> CostPush:
    waiting = CostPush.objects.filter(
        source=push.source_id, status__in=[PushStatus.QUEUED, PushStatus.RUNNING]
    )
    if waiting.count() >= MAX_UNFINISHED:
        raise PushConflict(
            f"{MAX_UNFINISHED} pushes of this source are waiting to be imported. Commit again later."
        )
    push.status, push.committed_parts, push.committed_at = PushStatus.QUEUED, parts, clock.now()
    push.save(update_fields=["status", "committed_parts", "committed_at"])
    _record(push, credential.account, credential.actor, "commit")
    account_id, pk = push.account_id, push.pk
    transaction.on_commit(lambda: publish(RUN_TASK, account_id, pk, expires=MESSAGE_SECONDS))
    return push


def _create(credential: CostCredential, month: date, public_id: uuid.UUID) -> CostPush:
    now = clock.now()
    return CostPush.objects.create(
        account=credential.account,
        source_id=credential.source_id,
        public_id=public_id,
        month=month,
        actor_label=credential.actor.label,
        created_at=now,
        expires_at=now + OPEN_TIME,
    )


def _lock_source(credential: CostCredential) -> None:
    """Lock the source until the end of the transaction against opening and committing other pushes, so that counts hold."""
    list(CostSource.objects.select_for_update(no_key=True).filter(pk=credential.source_id).values_list("pk"))


def _push_of(credential: CostCredential, push_id: uuid.UUID, *, lock: bool = False) -> CostPush:
    rows = CostPush.objects.select_for_update(of=("self",)) if lock else CostPush.objects.all()
    push = rows.filter(source=credential.source_id, public_id=push_id).first()
    if push is None:
        raise UnknownPush
    return push


def _record(push: CostPush, account: Account, actor: Actor, action: str) -> None:
    audit.record(
        account=account,
        actor=actor,
        action=f"cost_push.{action}",
        target=CostSource.objects.get(pk=push.source_id).name,
        detail={"push": str(push.public_id), "month": month_name(push.month), "parts": push.committed_parts},
    )
