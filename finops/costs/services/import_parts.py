"""A large import in parts: its files in runs of about IMPORT_PART_BYTES, each read by any free worker (ADR 0100).

The row of the import has its parts and what finished parts have written (`CostImport.parts`), so a message that is
lost or arrives twice changes nothing. The worker that runs the import plans it, reads parts like the others, and
commits all parts in one transaction as an import in one piece: the source has the old months or the new ones,
whichever worker dies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from django.conf import settings
from django.db import transaction

from finops.costs.focus.bill_parts import BillOfParts, BillPart, shared_facts
from finops.costs.focus.open_files import FocusFile, PartOfFiles
from finops.costs.models import CostImport
from finops.costs.native.native_format import OtherFiles
from finops.costs.services import claims
from finops.costs.services.import_reading import Progress, options_of
from finops.lake.storage import segments
from finops.lake.storage.segments import SWAP_DEADLINE, NewSegment
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.worker.broker import publish

PART_TASK: Final = "costs.import_part"
MAX_PARTS: Final = 64
"""The maximum of parts. A larger import has larger parts: each is a segment of its months, and each segment of a
month costs every query."""

MAX_WORKERS: Final = 8
"""The maximum of workers that are asked to help with one import."""

MAX_ATTEMPTS: Final = 3
"""The maximum of attempts of a part, as of an import."""

MESSAGE_SECONDS: Final = 15.0
"""Seconds after which a message expires: beat sends another."""

LOOK_SECONDS: Final = 0.5
"""Seconds between two checks whether other workers have finished their parts."""

REUSE: Final = SWAP_DEADLINE / 2
"""The age from which a later attempt reads a part again: its segment must be committed within SWAP_DEADLINE."""


class ImportPart(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Files of the import from index `first` up to but not including `until`. A finished part has the content of its
    files and the written segments."""

    first: int
    until: int
    bytes: int
    attempts: int = 0
    bill: BillPart | None = None
    new_segments: list[NewSegment] = msgspec.field(name="written", default_factory=list)
    contents: list[str] = []

    @property
    def is_done(self) -> bool:
        return self.bill is not None


class PartPlan(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The plan for one set of files, read in one way (`key`). `optional`: the optional columns of all files.
    `decisions`: what all files decided about each. `last_waits`: the last part is read after all others. `error`: why
    a part, and so the import, fails."""

    key: str
    optional: list[str]
    # Versions that read each part for itself do not find the parts of this plan, and leave them.
    parts: list[ImportPart] = msgspec.field(name="file_parts")
    decisions: list[str] = []
    last_waits: bool = False
    error: str = ""

    @property
    def open_parts(self) -> list[int]:
        """The parts that can be read now."""
        open_parts = [number for number, part in enumerate(self.parts) if not part.is_done]
        last = len(self.parts) - 1
        return [
            number for number in open_parts if number != last or not self.last_waits or open_parts == [last]
        ]

    @property
    def needs_one_piece(self) -> bool:
        """Whether a part shows that the import must be read in one piece."""
        return any(part.bill.needs_one_piece for part in self.parts if part.bill)

    def part_of_files(self, number: int) -> PartOfFiles:
        """Return what reading this part depends on. Raises PartsDiffer for the last part while it has to wait."""
        part = self.parts[number]
        decisions = tuple(self.decisions[part.first : part.until])
        is_last = number == len(self.parts) - 1
        if not is_last or not self.last_waits:
            return PartOfFiles(self.optional, OtherFiles(decisions, more_follow=not is_last))
        bills = [part.bill for part in self.parts[:-1]]
        summaries = tuple(bill.summary for bill in bills if bill is not None and bill.summary is not None)
        if len(summaries) < len(bills):
            raise PartsDiffer(f"read {len(summaries)} of the {len(bills)} parts before the last")
        return PartOfFiles(self.optional, OtherFiles(decisions, earlier=summaries))


@dataclass(frozen=True)
class ReadParts:
    """All parts: the bill, its segments and the digests of the files' contents, as `ReadFiles` has them."""

    bill: BillOfParts
    new_segments: list[NewSegment]
    contents: list[str]


class PartsDiffer(Exception):
    """The lines written of a month differ from the lines read. Nothing is committed then."""


def split(sizes: Sequence[int], part_bytes: int) -> list[tuple[int, int]]:
    """Return runs of files, each (first, until), of at least `part_bytes` together except the last; 64 at most. Pure."""
    least = max(part_bytes, -(-sum(sizes) // MAX_PARTS))
    runs: list[tuple[int, int]] = []
    first = size = 0
    for place, each in enumerate(sizes):
        size += each
        if size >= least:
            runs.append((first, place + 1))
            first, size = place + 1, 0
    if first < len(sizes):
        runs.append((first, len(sizes)))
    return runs


def plan(job: CostImport) -> PartPlan | None:
    """Plan a claimed import in parts and store the plan; None for an import that is read in one piece: with few
    bytes, one file, or files that cannot be parts. Finished parts of an earlier attempt whose process died are kept.
    Opens each file; raises FocusFileError as `normalise`."""
    sizes = [file["bytes"] for file in job.files]
    runs = split(sizes, settings.IMPORT_PART_BYTES)
    if sum(sizes) < 2 * settings.IMPORT_PART_BYTES or len(runs) < 2:
        return None
    options = options_of(job)
    files = [FocusFile(Path(file["path"]), file["name"]) for file in job.files]
    facts = shared_facts(files, options.defaults, options.formats, options.mapping)
    if facts is None:
        return None
    if facts.last_needs_others:
        runs = [*split(sizes[:-1], settings.IMPORT_PART_BYTES), (len(sizes) - 1, len(sizes))]
        if len(runs) < 3:
            return None
    how = msgspec.json.encode([job.files, runs, facts, asdict(options)], enc_hook=repr, order="sorted")
    key = sha256(how).hexdigest()
    parts = [ImportPart(first=first, until=until, bytes=sum(sizes[first:until])) for first, until in runs]
    new = PartPlan(
        key=key,
        optional=list(facts.optional),
        parts=parts,
        decisions=list(facts.decisions),
        last_waits=facts.last_needs_others,
    )
    before = stored_plan(job.pk)
    if before is not None and before.key == key:
        new.error = before.error
        new.parts = [_reuse_part(part) for part in before.parts]
    claims.fence.update(job, parts=msgspec.to_builtins(new))
    return new


def _reuse_part(part: ImportPart) -> ImportPart:
    """Return a part of an earlier attempt; without its result if that was written too long ago."""
    oldest = clock.now() - REUSE
    if part.is_done and all(segment.written_at > oldest for segment in part.new_segments):
        return part
    return ImportPart(first=part.first, until=part.until, bytes=part.bytes, attempts=part.attempts)


def stored_plan(import_id: int) -> PartPlan | None:
    """Return the plan in the row; None without a plan, and for the plan of another version of the program."""
    # Unscoped: a worker names the row itself.
    stored = CostImport.objects.unscoped().filter(pk=import_id).values_list("parts", flat=True).first()
    return _decode(stored)


def _decode(stored: Any) -> PartPlan | None:
    try:
        return None if stored is None else msgspec.convert(stored, PartPlan)
    except msgspec.ValidationError:
        return None


def is_running(import_id: int) -> bool:
    """Return whether an import runs in parts and is not canceled. One query."""
    # Unscoped: a worker names the row itself.
    rows = CostImport.objects.unscoped().filter(pk=import_id, status=CostImport.Status.RUNNING)
    return rows.filter(cancel_requested_at=None, parts__isnull=False).exists()


@transaction.atomic
def change_plan(import_id: int, key: str, change: Callable[[PartPlan], None]) -> PartPlan | None:
    """Change the stored plan of a running import; None, unchanged, if the row has another plan or the import ended."""
    # Unscoped: a worker names the row itself.
    rows = CostImport.objects.unscoped().filter(pk=import_id, status=CostImport.Status.RUNNING)
    stored = rows.select_for_update().values_list("parts", flat=True).first()
    current = _decode(stored)
    if current is None or current.key != key:
        return None
    change(current)
    rows.update(parts=msgspec.to_builtins(current))
    return current


def begin_part(import_id: int, key: str, number: int) -> ImportPart | None:
    """Count an attempt of a part and return the part; None if it is finished or must not be read any more. Call with
    `part_lock`."""
    begun: list[ImportPart] = []

    def count(current: PartPlan) -> None:
        part = current.parts[number]
        if part.is_done or current.error:
            return
        if part.attempts >= MAX_ATTEMPTS:
            names = f"part {number + 1} of {len(current.parts)}"
            current.error = (
                f"The import was interrupted three times while reading {names}. Nothing was changed."
            )
            return
        part.attempts += 1
        begun.append(part)

    change_plan(import_id, key, count)
    return begun[0] if begun else None


def finish_part(import_id: int, key: str, number: int, done: ImportPart) -> bool:
    """Store the result of a part; False, with its segments removed, if no import waits for the part any more."""

    def store(current: PartPlan) -> None:
        current.parts[number] = done

    if change_plan(import_id, key, store) is None:
        segments.discard(done.new_segments)
        return False
    return True


def fail_parts(import_id: int, key: str, error: str) -> None:
    """Make the import fail with this error at the next check by the worker that runs it; the first error counts."""

    def store(current: PartPlan) -> None:
        current.error = current.error or error

    change_plan(import_id, key, store)


def part_lock(import_id: int, number: int) -> Any:
    """Return the lock of a part, which is released when the process that reads the part ends (`advisory_lock`)."""
    return advisory_lock(f"cost import {import_id} part {number}")


def ask_for_help(account_id: int, import_id: int, open_parts: int) -> None:
    """Ask one worker for each open part to help, eight at most."""
    for _ in range(min(open_parts, MAX_WORKERS)):
        publish(PART_TASK, account_id, import_id, expires=MESSAGE_SECONDS)


def due_parts() -> list[tuple[int, int, int]]:
    """Return account, id and open parts of imports that run in parts."""
    # Unscoped: the queue serves every account.
    rows = CostImport.objects.unscoped().filter(
        status=CostImport.Status.RUNNING, cancel_requested_at=None, parts__isnull=False
    )
    values = rows.order_by("pk").values_list("account_id", "pk", "parts")
    plans = [(account_id, pk, _decode(parts)) for account_id, pk, parts in values]
    return [
        (account_id, pk, len(current.open_parts)) for account_id, pk, current in plans if current is not None
    ]


def close(job: CostImport) -> None:
    """Remove the plan and the segments that its parts have written, after an import that was not committed."""
    with transaction.atomic():
        # Unscoped: a worker names the row itself.
        rows = CostImport.objects.unscoped().filter(pk=job.pk, attempts=job.attempts)
        current = _decode(rows.select_for_update().values_list("parts", flat=True).first())
        rows.update(parts=None)
    if current is not None:
        segments.discard([segment for part in current.parts for segment in part.new_segments])


def combine_parts(parts: Sequence[ImportPart]) -> ReadParts:
    """Return all parts as one. Raises PartsDiffer where segments lack rows of a month."""
    bill = BillOfParts([part.bill for part in parts if part.bill is not None])
    new_segments = [segment for part in parts for segment in part.new_segments]
    rows = dict.fromkeys(bill.file_months, 0)
    for segment in new_segments:
        rows[segment.month] = rows.get(segment.month, 0) + segment.rows
    counted = {month: in_files.rows for month, in_files in bill.file_months.items()}
    if rows != counted or len(parts) != sum(part.is_done for part in parts):
        raise PartsDiffer(f"read {counted}, written {rows}")
    return ReadParts(bill, new_segments, [content for part in parts for content in part.contents])


def wait_for_others(progress: Progress) -> None:
    """Wait LOOK_SECONDS; raises what `Progress.check` raises."""
    time.sleep(LOOK_SECONDS)
    progress.check()
