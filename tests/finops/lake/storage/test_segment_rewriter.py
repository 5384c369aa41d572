"""Sorted files read as one: every row, in order, in memory that does not grow with the files."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.lake.storage import segment_rewriter
from finops.lake.storage.segment_rewriter import merge_sorted_files
from tests.examples import examples

ORDER = ("metric", "day", "customer_id")
SCHEMA = pa.schema(
    [
        ("day", pa.date32()),
        ("customer_id", pa.string()),
        ("metric", pa.string()),
        ("number", pa.int64()),
        ("dim:k", pa.string()),
    ]
)
FIRST = date(2026, 1, 1)

Row = tuple[str, date, str]

rows_ = st.tuples(
    st.sampled_from(["", "a", "calls", "z\x00", "é", "\U0001f600"]),
    st.dates(FIRST, FIRST + timedelta(days=3)),
    st.text(st.characters(codec="utf-8"), max_size=3),
)
files_ = st.lists(st.tuples(st.lists(rows_, min_size=1, max_size=60), st.booleans()), min_size=1, max_size=6)


def bytewise(row: Row) -> tuple[bytes, date, bytes]:
    return row[0].encode(), row[1], row[2].encode()


def write_sorted(
    file: Path, rows: list[Row], *, first: int = 0, with_key: bool = True, group: int = 7
) -> Path:
    columns: dict[str, Any] = {
        "customer_id": [row[2] for row in rows],
        "metric": [row[0] for row in rows],
        "day": [row[1] for row in rows],
        "number": range(first, first + len(rows)),
    }
    if with_key:
        columns["dim:k"] = [f"v{at % 3}" if at % 2 else None for at in range(len(rows))]
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    pq.write_table(pa.table(columns, schema), file, row_group_size=group)
    return file


def read(files: list[Path]) -> pa.Table:
    return pa.Table.from_batches(merge_sorted_files(files, SCHEMA, ORDER), SCHEMA)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(150))
@given(files=files_)
def test_all_rows_of_all_files_come_in_order_with_all_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[tuple[list[Row], bool]]
) -> None:
    monkeypatch.setattr(segment_rewriter, "BUFFERED_CELLS", 0)
    monkeypatch.setattr(segment_rewriter, "LEAST_ROWS", 3)
    expected: dict[int, tuple[Any, ...]] = {}
    paths = []
    for number, (rows, with_key) in enumerate(files):
        in_order, first = sorted(rows, key=bytewise), number * 1_000
        paths.append(write_sorted(tmp_path / f"{number}.parquet", in_order, first=first, with_key=with_key))
        for at, row in enumerate(in_order):
            expected[first + at] = (*row, f"v{at % 3}" if with_key and at % 2 else None)
    result_rows = read(paths).to_pylist()
    assert {row["number"]: (*(row[name] for name in ORDER), row["dim:k"]) for row in result_rows} == expected
    assert len(result_rows) == len(expected)
    order = [bytewise((row["metric"], row["day"], row["customer_id"])) for row in result_rows]
    assert order == sorted(order)


def test_no_row_of_an_unsorted_file_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_rewriter, "BUFFERED_CELLS", 0)
    monkeypatch.setattr(segment_rewriter, "LEAST_ROWS", 2)
    falling = [(f"m{9 - at % 10}", FIRST + timedelta(days=-at % 5), f"c{at % 3}") for at in range(40)]
    files = [
        write_sorted(tmp_path / "falling.parquet", falling),
        write_sorted(tmp_path / "rising.parquet", sorted(falling, key=bytewise), first=100),
    ]
    assert sorted(read(files)["number"].to_pylist()) == [*range(40), *range(100, 140)]


def test_no_files_give_no_rows() -> None:
    assert read([]).num_rows == 0


def test_memory_does_not_grow_with_the_rows_of_the_files(tmp_path: Path) -> None:
    def most(rows: int) -> int:
        line: list[Row] = [("calls", FIRST + timedelta(days=at * 20 // rows), "c" * 40) for at in range(rows)]
        files = [write_sorted(tmp_path / f"{rows}-{n}.parquet", line, group=20_000) for n in range(4)]
        before = int(pa.total_allocated_bytes())
        return max(int(pa.total_allocated_bytes()) - before for _ in merge_sorted_files(files, SCHEMA, ORDER))

    assert most(240_000) < 1.3 * most(60_000)


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    file = write_sorted(tmp_path / "whole.parquet", [("m", FIRST, "c")] * 100)
    damaged = bytearray(file.read_bytes())
    damaged[10:200] = b"\xff" * 190
    file.write_bytes(damaged)
    with pytest.raises((pa.ArrowException, OSError)):
        read([file])
