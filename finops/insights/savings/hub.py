"""AWS Cost Optimization Hub: reads an export of its table COST_OPTIMIZATION_RECOMMENDATIONS (AWS Data Exports; CSV,
gzip-compressed CSV or Parquet)."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.parquetfile import ParquetFile
from finops.insights.savings.candidates import HUB
from finops.insights.savings.recommendation_api import (
    LONGEST,
    MAX_ROWS,
    RecommendationList,
    RecommendationRow,
    amount_of,
    days_of,
    moment_of,
)
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError

MAX_UNPACKED: Final = 200_000_000
RATIO: Final = 100
RATIO_FROM: Final = 250_000
"""A file above this unpacked size may have at most this ratio of its compressed size."""
ROW_BYTES: Final = 16
ROWS_FROM: Final = 500
"""A file with more rows than this must have this many bytes per row, also compressed: an id is random and unique. A
row takes 40 µs."""
MAX_FIELD: Final = 1_000_000
"""Details of a resource are JSON documents in one field."""
_SLICE: Final = 256
"""Parquet rows that are converted to Python values at a time."""

NEEDED: Final = ("recommendation_id", "action_type", "estimated_monthly_savings_after_discount")
_AGAIN: Final = (
    "Export the table 'Cost optimization recommendations' in AWS Billing, Data Exports, and upload the file as it is "
    "(CSV, CSV.gz or Parquet)."
)


def read_file(file: BinaryIO) -> RecommendationList:
    """Return all recommendations of the file; of a repeated id the last one. Raises UserError for a file that is not
    such an export, or too large. Memory: the rows, at most 100,000."""
    hub_file = RecommendationList()
    by_id: dict[str, RecommendationRow] = {}
    size = file.seek(0, io.SEEK_END)
    for number, raw in enumerate(_limit_records(_records(file, size), size), start=2):
        try:
            row = hub_row(raw)
        except (UserError, ValueError) as problem:
            hub_file.leave_out(f"Row {number}: {problem}")
            continue
        by_id[row.recommendation_id] = row
    hub_file.rows = list(by_id.values())
    return hub_file


def _limit_records(records: Iterable[Mapping[str, Any]], size: int) -> Iterator[Mapping[str, Any]]:
    for count, record in enumerate(records, start=1):
        if count > MAX_ROWS:
            raise UserError(
                f"The file has more than {MAX_ROWS:,} recommendations. Export fewer regions or accounts at a time.",
                field="file",
            )
        if count > ROWS_FROM + size // ROW_BYTES:
            raise UserError(
                f"The file has more rows than {size:,} bytes can hold. {_AGAIN}",
                field="file",
            )
        yield record


def _records(file: BinaryIO, size: int) -> Iterator[Mapping[str, Any]]:
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    most = min(MAX_UNPACKED, max(RATIO_FROM, RATIO * size))
    try:
        if head == b"PAR1":
            yield from _parquet(file)
        elif head[:2] == b"\x1f\x8b":
            yield from _csv(_BoundedReader(gzip.GzipFile(fileobj=file), most))
        else:
            yield from _csv(_BoundedReader(file, most))
    except (pa.ArrowException, csv.Error, UnicodeDecodeError, zlib.error, EOFError, OSError) as error:
        raise UserError(f"The file is truncated or damaged: {error}. {_AGAIN}", field="file") from error


def _parquet(file: BinaryIO) -> Iterator[Mapping[str, Any]]:
    with NamedTemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        parquet = ParquetFile(Path(copy.name), "The file")
        places = {name.strip().lower(): place for place, name in enumerate(parquet.names)}
        _check_columns(places)
        names = [name for name in places if name in _COLUMNS]
        for batch in parquet.batches([places[name] for name in names], ()):
            columns = [_truncate_column(batch[places[name]]) for name in names]
            for start in range(0, len(columns[0]), _SLICE):
                slices = [column.slice(start, _SLICE).to_pylist() for column in columns]
                for values in zip(*slices, strict=True):
                    yield dict(zip(names, values, strict=True))


def _truncate_column(column: pa.Array) -> pa.Array:
    """Truncate texts to the stored length, before they are copied to each row."""
    if not pa.types.is_dictionary(column.type):
        return column
    return pa.DictionaryArray.from_arrays(
        column.indices, pc.utf8_slice_codeunits(column.dictionary, 0, LONGEST)
    )


class _BoundedReader(io.RawIOBase):
    """A reader that fails when a small file unpacks to too much."""

    def __init__(self, file: Any, most: int) -> None:
        self._file, self._most, self._left = file, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into the buffer. Raises UserError once the file has unpacked to more bytes than allowed."""
        read: bytes = self._file.read(len(buffer))
        self._left -= len(read)
        if self._left < 0:
            raise UserError(f"The file unpacks to more than {self._most:,} bytes. {_AGAIN}", field="file")
        buffer[: len(read)] = read
        return len(read)


def _csv(file: _BoundedReader) -> Iterator[Mapping[str, Any]]:
    text = io.TextIOWrapper(io.BufferedReader(file, 1 << 16), encoding="utf-8-sig", newline="")
    csv.field_size_limit(MAX_FIELD)
    reader = csv.reader(text)
    names = [name.strip().lower() for name in next(reader, [])]
    _check_columns(names)
    for values in reader:
        if values:
            yield dict(zip(names, values, strict=False))


def _check_columns(names: Iterable[str]) -> None:
    missing = [name for name in NEEDED if name not in set(names)]
    if missing:
        raise UserError(
            (
                f"The file has no column {missing[0]}, so it is not an export of AWS Cost Optimization "
                f"Hub. {_AGAIN}"
            ),
            field="file",
        )


_COLUMNS: Final = frozenset(
    (
        *NEEDED,
        *("account_id", "account_name", "currency_code", "current_resource_summary", "current_resource_type"),
        *("estimated_monthly_cost_after_discount", "estimated_monthly_cost_before_discount"),
        *("estimated_monthly_savings_before_discount", "implementation_effort", "last_refresh_timestamp"),
        *("recommendation_lookback_period_in_days", "recommendation_source", "recommended_resource_summary"),
        *("recommended_resource_type", "region", "resource_arn", "restart_needed", "rollback_possible"),
    )
)


def hub_row(raw: Mapping[str, Any]) -> RecommendationRow:
    """Return a recommendation by the export's column names. Raises UserError for one without a saving or an action."""

    def text(name: str, longest: int) -> str:
        value = raw.get(name)
        return "" if value is None else str(value).replace("\x00", "").strip()[:longest]

    after = amount_of(raw, "estimated_monthly_savings_after_discount")
    saving = after if after is not None else amount_of(raw, "estimated_monthly_savings_before_discount")
    if saving is None:
        raise UserError("estimated_monthly_savings_after_discount is empty.")
    if saving < 0:
        raise UserError(f"estimated_monthly_savings_after_discount is {saving}, less than 0.")
    cost = amount_of(raw, "estimated_monthly_cost_after_discount")
    for name in ("recommendation_id", "action_type"):
        if not text(name, 1):
            raise UserError(f"{name} is empty.")
    return RecommendationRow(
        rule=HUB.name,
        recommendation_id=text("recommendation_id", 300),
        action=text("action_type", 60),
        resource_id=text("resource_arn", LONGEST),
        resource_type=text("current_resource_type", 100) or text("recommended_resource_type", 100),
        current=text("current_resource_summary", 300),
        recommended=text("recommended_resource_summary", 300),
        sub_account=text("account_id", 60),
        sub_account_name=text("account_name", 255),
        region=text("region", 60),
        found_by=text("recommendation_source", 60),
        effort=text("implementation_effort", 20),
        restart_needed=_truth(raw.get("restart_needed")),
        rollback_possible=_truth(raw.get("rollback_possible")),
        lookback_days=days_of(raw.get("recommendation_lookback_period_in_days")),
        monthly_cost=cost if cost is not None else amount_of(raw, "estimated_monthly_cost_before_discount"),
        monthly_saving=saving,
        currency=currency_code(text("currency_code", 20) or "USD", field="currency_code"),
        refreshed_at=moment_of(raw.get("last_refresh_timestamp")),
    )


def _truth(value: Any) -> bool | None:
    return {"true": True, "false": False}.get(str(value).strip().lower())
