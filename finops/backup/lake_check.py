"""Check of the lake against its manifest: files, checksums, rows, days and sums; and repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from finops.backup.import_totals import CostComparison, ImportDifference
from finops.backup.objects import ObjectStore
from finops.backup.records import LakeFile
from finops.backup.restoration import restore_file
from finops.lake import schema
from finops.lake.engine import compiler, engine
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import garbage_collection
from finops.lake.storage.manifest import SegmentFile
from finops.lake.storage.segments import magnitudes_of, sha256
from finops.lake.storage.storage import storage
from finops.lib.money import exact_sum

_AMOUNTS: Final = ("billed_cost", "effective_cost")

Sums = dict[str, tuple[Decimal | None, ...]]


@dataclass(frozen=True)
class LakeProblem:
    """A problem of a file, and what a person can do; `is_repaired` when nothing is left to do."""

    path: str
    text: str
    advice: str
    is_repaired: bool = False


@dataclass(frozen=True)
class CheckResult:
    """The result: checked `files` and `rows`, and the problems; of the readable `cost_files`, `compared` were compared with
    their imports."""

    files: int
    rows: int
    cost_files: int
    compared: int
    problems: list[LakeProblem]

    @property
    def is_sound(self) -> bool:
        return all(problem.is_repaired for problem in self.problems)


class BackupFiles:
    """Files of a backup, by path in the lake, as the source of repairs."""

    def __init__(self, store: ObjectStore, files: list[LakeFile]) -> None:
        self._store = store
        self._files = {file.path: file for file in files}

    def restore(self, path: str, checksum: str) -> bool:
        """Restore the file; return False where the backup has no such content."""
        file = self._files.get(path)
        return (
            file is not None and file.sha256 == checksum and restore_file(self._store, file, lambda _: None)
        )


def check_lake(*, repair: bool, backup: BackupFiles | None, progress: Callable[[str], None]) -> CheckResult:
    """Read and check every live segment and rollup: a pass over the whole lake. Nothing is written without `repair`.

    Raises StorageUnreachable when the storage does not answer: nothing is reported or repaired then.
    """
    problems: list[LakeProblem] = []
    comparison = CostComparison()
    files = rows = 0
    # Unscoped: an operator checks the lake of every account.
    segments = LakeSegment.objects.unscoped().filter(retired_at=None).order_by("pk")
    for segment in segments.iterator():
        problems += _check_segment(segment, comparison, repair=repair, backup=backup)
        files, rows = files + 1, rows + segment.rows
        if files % 500 == 0:
            progress(f"Checked: {files:,} segments")
    problems += map(_import_problem, comparison.differences())
    problems += _orphans(repair=repair)
    return CheckResult(files, rows, comparison.segments, comparison.compared, problems)


def _import_problem(difference: ImportDifference) -> LakeProblem:
    source = difference.source
    path = ", ".join(difference.paths) or f"{difference.month:%Y-%m} of source {source.source_id}"
    advice = (
        f"Import {difference.month:%Y-%m} of source {source.source_id} again (account {source.account_id})."
    )
    return LakeProblem(path, difference.text, advice)


def _check_segment(
    segment: LakeSegment, comparison: CostComparison, *, repair: bool, backup: BackupFiles | None
) -> Iterator[LakeProblem]:
    text = _damage(segment.path, segment.checksum, segment.bytes)
    if text and not _is_live(segment):
        return  # replaced since the check began, and its file is swept
    if text:
        is_repaired = repair and backup is not None and backup.restore(segment.path, segment.checksum)
        yield LakeProblem(segment.path, text, _import_advice(segment), is_repaired)
        if not is_repaired:
            return
    if difference := _difference(segment):
        if repair:
            _update_statistics(segment)
        yield LakeProblem(
            segment.path, difference, "Run with --repair to copy the file's figures to the manifest.", repair
        )
    if repair and segment.magnitudes is None:
        _store_magnitudes(segment)
    if segment.kind == Kind.COST:
        sums = _sums(segment.path, segment.checksum, segment.columns)
        comparison.add(segment, sums)
        yield from _check_rollups(segment, sums, repair=repair)


def _is_live(segment: LakeSegment) -> bool:
    return LakeSegment.objects.unscoped().filter(pk=segment.pk, retired_at=None).exists()


def _import_advice(segment: LakeSegment) -> str:
    action = (
        f"import {segment.month:%Y-%m} of source {segment.source_id} again"
        if segment.kind == Kind.COST
        else f"push the usage of {segment.month:%Y-%m} of source {segment.source_id} again"
    )
    return f"Run with --repair --from TARGET of a backup, or {action} (account {segment.account_id})."


def _damage(path: str, checksum: str, size: int) -> str:
    try:
        with storage().original(path) as file:
            if (actual := file.stat().st_size) != size:
                return f"has {actual:,} bytes, the manifest says {size:,}"
            return "" if sha256(file) == checksum else "has a different checksum than in the manifest"
    except FileNotFoundError:
        return "is missing"


@dataclass(frozen=True)
class _Statistics:
    rows: int
    columns: list[str]
    first_day: Any
    last_day: Any


def _statistics(segment: LakeSegment) -> _Statistics:
    day = schema.day_column(Kind(segment.kind))
    with storage().original(segment.path) as path:
        file = pq.ParquetFile(Path(path))
        days = file.read(columns=[day])[day]
        bounds = sorted(days.unique().to_pylist())
        return _Statistics(file.metadata.num_rows, file.schema_arrow.names, bounds[0], bounds[-1])


def _difference(segment: LakeSegment) -> str:
    """Describe how the manifest's row differs from its file, whose checksum is right."""
    actual = _statistics(segment)
    differences = [
        f"{name} {_short(getattr(actual, name))}, the manifest says {_short(getattr(segment, name))}"
        for name in ("rows", "columns", "first_day", "last_day")
        if getattr(actual, name) != getattr(segment, name)
    ]
    return f"has {'; '.join(differences)}" if differences else ""


def _short(value: Any) -> str:
    return f"{len(value)} columns" if isinstance(value, list) else str(value)


def _update_statistics(segment: LakeSegment) -> None:
    actual = _statistics(segment)
    for name in ("rows", "columns", "first_day", "last_day"):
        setattr(segment, name, getattr(actual, name))
    segment.save(update_fields=["rows", "columns", "first_day", "last_day"])


def _store_magnitudes(segment: LakeSegment) -> None:
    """Store the magnitudes of a file of an earlier version: without them a cluster never adds it up (docs/scale.md)."""
    with storage().original(segment.path) as path:
        file = pq.ParquetFile(Path(path))
        segment.magnitudes = magnitudes_of(file.metadata, file.schema_arrow)
    segment.save(update_fields=["magnitudes"])


def _check_rollups(segment: LakeSegment, expected: Sums, *, repair: bool) -> Iterator[LakeProblem]:
    """Check rollups. They are computed from their segment, so a damaged one is repaired by computing it again."""
    for rollup in LakeRollup.objects.unscoped().filter(segment=segment):
        text = _damage(rollup.path, rollup.checksum, rollup.bytes) or _sum_difference(
            segment, rollup, expected
        )
        if not text or not _is_live(segment):
            continue
        if repair:
            _discard_rollups(segment)
        yield LakeProblem(rollup.path, text, "Run with --repair: rollups are created again.", repair)
        if repair:
            return


def _discard_rollups(segment: LakeSegment) -> None:
    # Their files go with a sweep: a backup that runs may need them.
    LakeRollup.objects.unscoped().filter(segment=segment).delete()
    segment.summarised_at = None
    segment.save(update_fields=["summarised_at"])


def _sum_difference(segment: LakeSegment, rollup: LakeRollup, expected: Sums) -> str:
    columns = [name for name in segment.columns if name not in rollup.without]
    actual = _sums(rollup.path, rollup.checksum, columns)
    if actual == expected:
        return ""
    currency = next(each for each in {**expected, **actual} if expected.get(each) != actual.get(each))
    return f"adds up to other costs in {currency} than its segment {segment.path}"


def _sums(path: str, checksum: str, columns: list[str]) -> Sums:
    """Billed and effective cost by currency."""
    file = SegmentFile(path, checksum, frozenset(columns))
    statement = partial(compiler.sums_sql, keys=("currency",), amounts=_AMOUNTS)
    with engine.read_batches([file], statement, account=None) as reader:
        return {
            row["currency"]: tuple(
                exact_sum([row[name]]) if row[name] is not None else None for name in _AMOUNTS
            )
            for row in reader.read_all().to_pylist()
        }


def _orphans(*, repair: bool) -> Iterator[LakeProblem]:
    """Files that no row names and that are too old to belong to a running import."""
    orphans = sorted(garbage_collection.orphans())
    if not orphans:
        return
    if repair:
        garbage_collection.sweep()
    remaining = {file.path for file in storage().files()} if repair else set(orphans)
    for path in orphans:
        yield LakeProblem(
            path,
            "is named by no row",
            "Run with --repair, or wait for the hourly sweep.",
            is_repaired=path not in remaining,
        )
