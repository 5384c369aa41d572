"""Usage that is pulled from a vendor. A day of a source is stored as a whole; another pull of the day replaces it.

So a day that is pulled twice counts once, a changed time bucket replaces the earlier one, and events that the vendor
no longer has are removed. Pulled events have the same rules, inbox, customers, metrics and meter as pushed ones; a
day is one batch of the ledger.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F, Sum
from msgspec import structs

from accounts.models import Account
from finops.lake.storage import locks
from finops.lake.usage import usage_removal
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import month_start
from ingestion.events import MAX_EVENTS
from ingestion.models import UsageBatch, UsageDay, UsageMeter, UsageSource
from ingestion.parsing import Batch, check_batch
from ingestion.services import dimension_keys, ledger
from ingestion.services.accept import set_gauges, store_events
from ingestion.services.event_ids import DedupResult

_HASH_BYTES: Final = 16
_HASH_LIMIT: Final = 1 << 8 * _HASH_BYTES


@dataclasses.dataclass(frozen=True, slots=True)
class DayTotal:
    """The result of a stored day. `error` is the reason of the first rejected event."""

    stored: int = 0
    rejected: int = 0
    is_changed: bool = True
    error: str = ""


def store_usage_day(
    *,
    source: UsageSource,
    day: date,
    path: Path | None,
    gauges: frozenset[str] = frozenset(),
    checkpoint: Callable[[], None] = lambda: None,
) -> DayTotal:
    """Replace a UTC day of a pull source by a file: one event as JSON a line, as it would be pushed. No file: an
    empty day.

    Does nothing if the day had the same lines at its last pull, in any order. `gauges` are metrics whose last value
    counts, unless the account has them already. `checkpoint` is called every thousand events; if it raises, the day
    stays as it was. Raises UserError when the source is deleted.
    """
    digest = _digest_of(path, checkpoint) if path else ""
    # Unscoped: the caller found the source.
    days = UsageDay.objects.unscoped().filter(source=source, day=day)
    if (days.values_list("digest", flat=True).first() or "") == digest:
        return DayTotal(is_changed=False)
    with transaction.atomic():
        before = days.first()
        if before is not None:
            # Locked before any row, as when a batch is voided.
            locks.lock_usage(source.account)
        _lock_source(source)
        if before is not None:
            _remove(source.account, before)
        return _store(source, day, path, digest, gauges, checkpoint) if path else DayTotal()


def usage_days(*, source: UsageSource, first: date, last: date) -> list[date]:
    """Return the days from `first` to `last`, inclusive, that have events, ascending. One query."""
    # Unscoped: the caller found the source.
    days = UsageDay.objects.unscoped().filter(source=source, day__gte=first, day__lte=last)
    return list(days.order_by("day").values_list("day", flat=True))


def stored_events(*, source: UsageSource, first: date, last: date) -> int:
    """Return the number of the source's events on the days from `first` to `last`, inclusive. One query."""
    # Unscoped: the caller found the source.
    days = UsageDay.objects.unscoped().filter(source=source, day__gte=first, day__lte=last)
    return int(days.aggregate(events=Sum("events"))["events"] or 0)


def _lock_source(source: UsageSource) -> None:
    """Lock the source until the transaction ends: its deletion waits, as for a push. Raises UserError for a deleted
    one."""
    # Unscoped: the caller found the source. NO KEY: the batch refers to the source.
    if not UsageSource.objects.unscoped().select_for_update(no_key=True).filter(pk=source.pk).exists():
        raise UserError("The usage source was deleted.")


def _remove(account: Account, before: UsageDay) -> None:
    """Remove the events of the day from all answers and from the meter."""
    removed = usage_removal.void_batch(
        account=account,
        source_id=before.source_id,
        batch=before.batch,
        first_day=before.day,
        last_day=before.day,
    )
    # Unscoped: the day names its account. Deleted, not voided: the batch was not withdrawn, the day is stored again.
    batches = UsageBatch.objects.unscoped().filter(pk=before.batch)
    if not batches.delete()[0]:
        # The batch has moved from the ledger to its month's sum.
        month = month_start(before.received_at.date())
        meters = UsageMeter.objects.unscoped().filter(account=account, month=month)
        meters.update(events=F("events") - removed)
    before.delete()


def _store(
    source: UsageSource,
    day: date,
    path: Path,
    digest: str,
    gauges: frozenset[str],
    checkpoint: Callable[[], None],
) -> DayTotal:
    batch_id, now = uuid4(), clock.now()
    total = DayTotal()
    for position, lines in _chunks(path):
        checkpoint()
        total = _store_chunk(source, day, batch_id, now, position, lines, total)
    if gauges:
        set_gauges(source.account_id, gauges, now)
    ledger.write_day_batch(
        batch_id=batch_id,
        source=source,
        received_at=now,
        day=day,
        stored=total.stored,
        rejected=total.rejected,
    )
    UsageDay.objects.unscoped().create(
        account=source.account,
        source=source,
        day=day,
        batch=batch_id,
        digest=digest,
        events=total.stored,
        received_at=now,
    )
    return total


def _store_chunk(
    source: UsageSource,
    day: date,
    batch_id: UUID,
    now: datetime,
    position: int,
    lines: Sequence[bytes],
    total: DayTotal,
) -> DayTotal:
    """Store these lines, the first of which is at `position`, and return the day's result with them."""
    batch = check_batch(b'{"events":[%b]}' % b",".join(lines))
    _check_day(batch, day)
    batch = dimension_keys.admit(account_id=source.account_id, source_id=source.pk, batch=batch)
    if batch.rejected and not total.rejected:
        ledger.write_rejected_events(
            batch_id=batch_id,
            account_id=source.account_id,
            source_id=source.pk,
            received_at=now,
            batch=batch,
            rejected=batch.rejected,
            offset=position,
        )
    events = batch.events
    if position:
        events = structs.replace(events, positions=[position + at for at in events.positions])
    store_events(
        account=source.account,
        source_id=source.pk,
        batch=batch_id,
        received_at=now,
        dedup_result=DedupResult(events, batch.names, 0, batch.rejected, len(batch.rounded)),
    )
    error = total.error or next((each.error for each in batch.rejected), "")
    return DayTotal(total.stored + len(events), total.rejected + len(batch.rejected), error=error)


def _check_day(batch: Batch, day: date) -> None:
    """Raises ValueError for an event of another day, which later pulls would not remove. Our code writes the file."""
    if batch.events.days() not in (None, (day, day)):
        raise ValueError(f"The file of {day} has events of other days.")


def _chunks(path: Path) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Yield up to a thousand lines, with the position of the first."""
    position = 0
    with path.open("rb") as file:
        while lines := list(islice(file, MAX_EVENTS)):
            yield position, lines
            position += len(lines)


def _digest_of(path: Path, checkpoint: Callable[[], None]) -> str:
    """Return a digest that is equal for the same lines in any order."""
    total = count = 0
    from_bytes = int.from_bytes
    for _position, lines in _chunks(path):
        checkpoint()
        count += len(lines)
        total += sum([from_bytes(blake2b(line, digest_size=_HASH_BYTES).digest()) for line in lines])
    return f"{total % _HASH_LIMIT:x}-{count}"
