"""A year of synthetic cost lines, generated quickly: 12 segments of a million lines, with few tags or with 200.

With BENCH_LAKE_DIR, a year is written there once and hard-linked by later runs (740 MB, or 1 GB with 200 tags).
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from accounts.models import Account
from benchmarks import bill
from finops.lake import schema
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.rollups import rollup_scheduler, rollups
from finops.lake.rollups.rollups import NewRollup
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.segments import NewSegment
from finops.lake.storage.storage import storage
from finops.lib import clock

LINES_A_MONTH = 1_000_000
FEW_TAGS = ["env", "team", "app"]
MANY_TAGS = FEW_TAGS + [f"Tag:{number}" for number in range(197)]


def months(year: int) -> list[date]:
    return [date(year, month, 1) for month in range(1, 13)]


def make_year(account: Account, year: int, keys: list[str]) -> None:
    make_months(account, months(year), keys)


def make_months(account: Account, of: list[date], keys: list[str]) -> None:
    """Write months of a million lines each."""
    for month in of:
        new = _read_shelf(account, month, keys) or write_month(account, month, keys)
        segments.swap_segments(account=account, kind=Kind.COST, source_id=1, months=[month], new=[new])


def summarise(account: Account, keys: list[str]) -> None:
    """Create the rollups of a year from `make_year`, as the worker does."""
    shelf = _shelf(keys)
    files = {
        segment: shelf / f"{segment.month}-summaries.json"
        for segment in LakeSegment.objects.unscoped().filter(account=account)
        if shelf is not None
    }
    for segment, shelf_file in files.items():
        if shelf_file.is_file():
            _name_summaries(segment, shelf_file)
    rollup_scheduler.roll_up_account(account, least_rows=1)
    for segment, shelf_file in files.items():
        _keep_summaries(segment, shelf_file)


def _name_summaries(segment: LakeSegment, shelf_file: Path) -> None:
    for each in msgspec.json.decode(shelf_file.read_bytes(), type=list[NewRollup]):
        path = f"{segment.account_id}/{each.path.partition('/')[2]}"
        _put(shelf_file.with_name(Path(each.path).name), path)
        LakeRollup.objects.unscoped().create(
            account_id=segment.account_id,
            segment=segment,
            **dataclasses.asdict(dataclasses.replace(each, path=path)),
        )
    LakeSegment.objects.unscoped().filter(pk=segment.pk).update(summarised_at=clock.now())


def _keep_summaries(segment: LakeSegment, shelf_file: Path) -> None:
    if shelf_file.is_file():
        return
    rows = LakeRollup.objects.unscoped().filter(segment=segment)
    for row in rows:
        _hard_link(Path(storage().local(row.path, row.checksum)), shelf_file.with_name(Path(row.path).name))
    new = [NewRollup(row.path, row.without, row.rows, row.bytes, row.checksum) for row in rows]
    shelf_file.write_bytes(msgspec.json.encode(new))


def link_earlier_years(account: Account, of: Account, years: int) -> None:
    """Give `account` the segments of another, and the same files under other names for the years before.

    A query that wrongly opened them would pay for it; making 48 more million lines would show nothing more.
    """
    for segment in LakeSegment.objects.unscoped().filter(account=of):
        for back in range(years):
            _link(segment, account, back)


def _link(segment: LakeSegment, account: Account, back: int) -> None:
    path = f"{account.pk}/{back}/{segment.path.replace('/', '-')}"
    _put(Path(storage().local(segment.path, segment.checksum)), path)
    segment.pk = None
    columns = {
        name: getattr(segment, name).replace(year=getattr(segment, name).year - back)
        for name in ("month", "first_day", "last_day")
    }
    values = {
        field.name: getattr(segment, field.name) for field in LakeSegment._meta.fields if field.name != "id"
    }
    LakeSegment.objects.unscoped().create(**{**values, **columns, "account": account, "path": path})


def _put(source: Path, path: str) -> None:
    copy = storage().new_file()
    copy.unlink()
    _hard_link(source, copy)
    storage().put(copy, path)


def _hard_link(source: Path, copy: Path) -> None:
    try:
        copy.hardlink_to(source)
    except OSError:  # on another disk
        shutil.copyfile(source, copy)


def write_month(account: Account, month: date, keys: list[str], source_id: int = 1) -> NewSegment:
    batches = _batches(month, keys)
    first = next(batches)
    new = segments.write_segment(
        account_id=account.pk,
        kind=Kind.COST,
        source_id=source_id,
        month=month,
        batches=(batch for part in ([first], batches) for batch in part),
        schema=first.schema,
    )
    _keep(new, keys)
    return new


def _shelf(keys: list[str]) -> Path | None:
    """Return the folder of a month with these tags; it changes with the generator and the writer."""
    folder = os.environ.get("BENCH_LAKE_DIR")
    if not folder:
        return None
    sources = [Path(str(module.__file__)).read_text() for module in (bill, segments, rollups)]
    made_of = (*sources, str(LINES_A_MONTH), *keys)
    return Path(folder, hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:16])


def _keep(new: NewSegment, keys: list[str]) -> None:
    shelf = _shelf(keys)
    if shelf is None:
        return
    shelf.mkdir(parents=True, exist_ok=True)
    _hard_link(Path(storage().local(new.path, new.checksum)), shelf / f"{new.month}.parquet")
    (shelf / f"{new.month}.json").write_bytes(msgspec.json.encode(new))


def _read_shelf(account: Account, month: date, keys: list[str]) -> NewSegment | None:
    shelf = _shelf(keys)
    if shelf is None or not (shelf / f"{month}.json").is_file():
        return None
    segment = msgspec.json.decode((shelf / f"{month}.json").read_bytes(), type=NewSegment)
    path = segment.path.replace(f"{segment.account_id}/", f"{account.pk}/", 1)
    _put(shelf / f"{month}.parquet", path)
    return dataclasses.replace(segment, account_id=account.pk, path=path, written_at=clock.now())


def _batches(month: date, keys: list[str]) -> Iterator[pa.RecordBatch]:
    """Return the lines of a month. Months differ only in their days, because generating the rest takes longer than
    writing it."""
    first = (month - date(1970, 1, 1)).days
    lines, tags = _lines(), _tags(tuple(keys))
    for start in range(0, lines.num_rows, segments.ROW_GROUP_ROWS):
        part, its_tags = (each.slice(start, segments.ROW_GROUP_ROWS) for each in (lines, tags))
        columns: dict[str, Any] = dict(zip(part.column_names, part.columns, strict=True))
        columns["charge_date"] = pc.add(columns["day"], first).cast(pa.int32()).cast(pa.date32())
        columns["billing_period"] = pa.repeat(pa.scalar(first, pa.int32()), part.num_rows).cast(pa.date32())
        base = {
            field.name: columns.get(field.name, pa.nulls(part.num_rows, field.type))
            for field in schema.COST_SCHEMA
        }
        tagged = dict(zip(its_tags.column_names, its_tags.columns, strict=True))
        yield from pa.table({**base, **tagged}).combine_chunks().to_batches()


@cache
def _lines() -> pa.Table:
    return bill.lines_of_a_month(LINES_A_MONTH)


@cache
def _tags(keys: tuple[str, ...]) -> pa.Table:
    return bill.tags_of_a_month(LINES_A_MONTH, {key: schema.tag_column(key) for key in keys})
