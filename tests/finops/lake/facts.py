"""Cost lines for tests of the lake, as rows in and sums out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from accounts.models import Account
from finops.lake import schema
from finops.lake.engine import engine
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments

Row = Mapping[str, Any]

JANUARY = date(2026, 1, 1)
FEBRUARY = date(2026, 2, 1)
EVER = (date(2000, 1, 1), date(2099, 12, 31))


def line(day: date, cost: str | Decimal | int, /, **columns: Any) -> dict[str, Any]:
    """One cost line; further columns by name, tags as `tags={"env": "prod"}`."""
    tags = columns.pop("tags", {})
    keys = {schema.tag_column(key): value for key, value in tags.items()}
    base = {"charge_date": day, "billing_period": day.replace(day=1), "currency": "USD"}
    amounts = {"billed_cost": Decimal(cost), "effective_cost": Decimal(cost)}
    return {**base, **amounts, **columns, **keys}


def write(
    account: Account,
    rows: Sequence[Row],
    *,
    source_id: int = 1,
    month: date = JANUARY,
    batch_rows: int = 1_000,
) -> segments.NewSegment:
    columns = dict.fromkeys(name for row in rows for name in row if schema.is_key_column(name))
    full = schema.segment_schema(Kind.COST, list(map(_key, columns)))
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=full)
    return segments.write_segment(
        account_id=account.pk,
        kind=Kind.COST,
        source_id=source_id,
        month=month,
        batches=table.to_batches(max_chunksize=batch_rows),
        schema=full,
    )


def _key(column: str) -> str:
    if column.startswith(schema.EXTENSION_PREFIX):
        return schema.ExtensionKey(schema.extension_name(column))
    return schema.tag_key(column)


def store(account: Account, rows: Sequence[Row], *, source_id: int = 1, month: date = JANUARY) -> None:
    """Make these rows the whole truth about a source's month."""
    new = [write(account, rows, source_id=source_id, month=month)] if rows else []
    segments.swap_segments(account=account, kind=Kind.COST, source_id=source_id, months=[month], new=new)


def swap(account: Account, *new: segments.NewSegment, months: tuple[date, ...] = (JANUARY,)) -> None:
    segments.swap_segments(account=account, kind=Kind.COST, source_id=1, months=months, new=new)


def manifest_rows(account: Account) -> list[LakeSegment]:
    return list(LakeSegment.objects.unscoped().filter(account=account).order_by("id"))


def run_query(account: Account, build: Callable[[Any], Any], **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = engine.run(account, Kind.COST, *EVER, build, **options).to_pylist()
    return rows


def total(account: Account, start: date = EVER[0], end: date = EVER[1]) -> Decimal | None:
    """The billed cost of these days; None when there is no line."""
    table = engine.run(account, Kind.COST, start, end, lambda cost: cost.agg(total=cost.billed_cost.sum()))
    total: Decimal | None = table["total"][0].as_py()
    return total


def billed_by(column: str) -> Callable[[Any], Any]:
    """Billed cost by one column."""
    return lambda cost: cost.group_by(key=cost[column]).agg(total=cost.billed_cost.sum())


def as_dict(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
    return {row["key"]: row["total"] for row in rows}
