"""A year of invented cost lines, quickly: 12 segments of a million lines, with few tags or with 200."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cache
from itertools import chain
from zlib import crc32

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from accounts.models import Account
from finops.lake import schema, segments
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import storage

LINES_A_MONTH = 1_000_000
TAG_VALUES = 25
FEW_TAGS = ["env", "team", "app"]
MANY_TAGS = FEW_TAGS + [f"Tag:{number}" for number in range(197)]
FILLED_TAGS = 12
"""Of many tag keys, one line has about so many."""

# Distinct values of each string column; the others stay null, as in most bills.
CARDINALITY = {
    "source": 1,
    "provider": 3,
    "service": 180,
    "service_category": 16,
    "region": 25,
    "account_id": 60,
    "account_name": 60,
    "usage_type": 2_500,
    "sku_id": 9_000,
    "resource_id": 40_000,
    "resource_name": 40_000,
    "resource_type": 90,
    "actor": 300,
    "charge_category": 3,
    "charge_frequency": 2,
    "charge_description": 6_000,
    "pricing_category": 3,
    "commitment_id": 40,
    "commitment_type": 2,
    "commitment_status": 2,
    "currency": 1,
    "consumed_unit": 12,
}
AMOUNTS = ["billed_cost", "effective_cost", "list_cost", "contracted_cost", "consumed_quantity"]
"""With charge_date, billing_period and the three tags: 32 filled columns of 41."""


def months(year: int) -> list[date]:
    return [date(year, month, 1) for month in range(1, 13)]


def make_year(account: Account, year: int, keys: list[str]) -> None:
    for month in months(year):
        new = _segment(account, month, keys)
        segments.swap_segments(account=account, kind=Kind.COST, source_id=1, months=[month], new=[new])


def link_earlier_years(account: Account, of: Account, years: int) -> None:
    """Give `account` the segments of another, and the same files under other names for the years before.

    A query that wrongly opened them would pay for it; making 48 more million lines would show nothing more.
    """
    for segment in LakeSegment.objects.unscoped().filter(account=of):
        for back in range(years):
            _link(segment, account, back)


def _link(segment: LakeSegment, account: Account, back: int) -> None:
    path = f"{account.pk}/{back}/{segment.path.replace('/', '-')}"
    source = storage().local(segment.path, segment.checksum)
    copy = storage().new_file()
    copy.unlink()
    copy.hardlink_to(source)
    storage().put(copy, path)
    segment.pk = None
    moved = {
        name: getattr(segment, name).replace(year=getattr(segment, name).year - back)
        for name in ("month", "first_day", "last_day")
    }
    values = {
        field.name: getattr(segment, field.name) for field in LakeSegment._meta.fields if field.name != "id"
    }
    LakeSegment.objects.unscoped().create(**{**values, **moved, "account": account, "path": path})


def _segment(account: Account, month: date, keys: list[str]) -> segments.NewSegment:
    first, rest = _peek(_batches(month, keys))
    return segments.write_segment(
        account_id=account.pk,
        kind=Kind.COST,
        source_id=1,
        month=month,
        batches=chain([first], rest),
        schema=first.schema,
    )


def _peek(batches: Iterator[pa.RecordBatch]) -> tuple[pa.RecordBatch, Iterator[pa.RecordBatch]]:
    return next(batches), batches


def _batches(month: date, keys: list[str]) -> Iterator[pa.RecordBatch]:
    """The lines of a month. Months differ in their days alone: making the rest takes longer than writing it."""
    first = (month - date(1970, 1, 1)).days
    for lines, tags in zip(_lines(), _tags(tuple(keys)), strict=True):
        days = {
            "charge_date": pc.add(lines["day"], first).cast(pa.int32()).cast(pa.date32()),
            "billing_period": pa.repeat(pa.scalar(first, pa.int32()), lines.num_rows).cast(pa.date32()),
        }
        given = {**_columns(lines), **days}
        base = {
            field.name: given.get(field.name, pa.nulls(lines.num_rows, field.type))
            for field in schema.COST_SCHEMA
        }
        yield pa.RecordBatch.from_pydict({**base, **_columns(tags)})


@cache
def _lines() -> list[pa.RecordBatch]:
    filled = {"day": _place(_random("day"), 28)}
    filled |= {name: _place(_random(name), count) for name, count in CARDINALITY.items()}
    filled |= {name: _amount(name) for name in AMOUNTS}
    return list(_generated(filled, CARDINALITY))


@cache
def _tags(keys: tuple[str, ...]) -> list[pa.RecordBatch]:
    names = [schema.tag_column(key) for key in keys]
    chance = FILLED_TAGS / len(keys) if len(keys) > FILLED_TAGS else 0.7
    some = {
        name: f"if({_random(name)} < {chance}, {_place(f'{_random(name)} / {chance}', TAG_VALUES)}, NULL)"
        for name in names
    }
    return list(_generated(some, dict.fromkeys(names, TAG_VALUES)))


def _generated(columns: dict[str, str], counts: dict[str, int]) -> Iterator[pa.RecordBatch]:
    """DuckDB makes numbers from the line's own; strings are those numbers as places in a dictionary."""
    dictionaries = {name: _values(name, count) for name, count in counts.items()}
    sql = ", ".join(f'{what} AS "{name}"' for name, what in columns.items())
    with duckdb.connect() as generator:
        lines = generator.execute(f"SELECT {sql} FROM range({LINES_A_MONTH}) AS lines(i)")
        for batch in lines.to_arrow_reader(segments.ROW_GROUP_ROWS):
            yield pa.RecordBatch.from_pydict(
                {
                    name: pa.DictionaryArray.from_arrays(column, dictionaries[name])
                    if name in counts
                    else column
                    for name, column in _columns(batch).items()
                }
            )


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _values(name: str, count: int) -> pa.Array:
    return pa.array([f"{name}-{number:08x}" for number in range(count)])


def _random(salt: str) -> str:
    """A number from 0 to 1 that the line and the salt decide."""
    return f"((hash(i + {crc32(salt.encode()) << 20}) >> 11) / 9007199254740992.0)"


def _place(random: str, count: int) -> str:
    # Squared: a few values are common and most are rare, as in a real bill.
    return f"CAST(floor({random} * {random} * {count}) AS INTEGER)"


def _amount(name: str) -> str:
    """Mostly cents, some hundreds, ten decimals."""
    return f"CAST(CAST(exp({_random(name)} * 14 - 8) AS DECIMAL(38, 10)) AS DECIMAL(38, 18))"
