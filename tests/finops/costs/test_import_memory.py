"""What an import holds in memory depends on neither the number of its files nor of their lines."""

from __future__ import annotations

import gc
import gzip
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from finops.costs.focus import csvfile, csvtext
from finops.costs.focus.csvtext import BLOCKS_AHEAD, FIRST_BLOCKS, PlainText
from finops.costs.focus.normalise import FocusFile, normalise
from finops.costs.focus.open_files import open_table
from tests.finops.costs.focus_reader import as_csv
from tests.finops.costs.native import azure_export, cur_files, test_opencost

LINES = 2_000
FEW, MANY = 2, 8
SPARE = 64 << 10
"""Bytes; a batch of these files has more."""


def focus_csv() -> bytes:
    return as_csv(*({"ResourceId": f"vm-{number}"} for number in range(LINES)))


def focus_parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pacsv.read_csv(pa.BufferReader(focus_csv())), buffer)
    return buffer.getvalue()


def cur_parquet() -> bytes:
    return cur_files.as_parquet(cur_files.month(LINES))


def cur_of_one_month() -> bytes:
    lines = cur_files.month(LINES * 2)
    return cur_files.as_parquet([line for line in lines if line["bill_billing_period_start_date"].month == 5])


def azure_csv() -> bytes:
    return azure_export.export(*({"Quantity": str(number)} for number in range(LINES)))


def opencost_parquet() -> bytes:
    table = pa.Table.from_pylist([test_opencost.ALLOCATION] * LINES)
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(focus_csv, id="FOCUS CSV", marks=pytest.mark.long),
        pytest.param(lambda: gzip.compress(focus_csv()), id="FOCUS CSV.gz"),
        pytest.param(focus_parquet, id="FOCUS Parquet", marks=pytest.mark.long),
        pytest.param(cur_parquet, id="CUR 2.0 of two months", marks=pytest.mark.long),
        pytest.param(cur_of_one_month, id="CUR 2.0"),
        pytest.param(azure_csv, id="Azure", marks=pytest.mark.long),
        pytest.param(opencost_parquet, id="OpenCost", marks=pytest.mark.long),
    ],
)
def test_an_import_frees_the_memory_of_each_file_after_reading(
    data: Callable[[], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data())
    of_few = _bytes_held_after(path, FEW, tmp_path)
    of_many = _bytes_held_after(path, MANY, tmp_path)
    assert of_many - of_few < SPARE


def _bytes_held_after(path: Path, times: int, folder: Path) -> int:
    """What is allocated by Arrow once every line was read, while the import still goes on."""
    gc.collect()
    before = pa.total_allocated_bytes()
    bill = normalise(
        [FocusFile(path, "file")] * times,
        folder=folder,
        source_id="7",
        defaults={"BillingCurrency": "USD"},
    )
    rows = sum(batch.num_rows for month in bill.months for batch in month.batches())
    assert rows >= LINES  # Azure: the same twice is actual and amortized cost, of which lines count once
    gc.collect()
    return int(pa.total_allocated_bytes() - before)


def test_text_is_read_only_some_blocks_ahead_and_fewer_before_the_first_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvtext, "_WAIT_SECONDS", 600)
    path = tmp_path / "file"
    path.write_bytes(bytes(BLOCKS_AHEAD + 3))
    with PlainText(path) as text:
        for _ in range(FIRST_BLOCKS):
            text.read_buffer(1)
        _waits_until(text.take_block, text)
        for _ in range(BLOCKS_AHEAD - FIRST_BLOCKS):
            text.read_buffer(1)
        _waits_until(text.take_block, text)


def _waits_until(action: Callable[[], None], text: PlainText) -> None:
    next_read = threading.Thread(target=text.read_buffer, args=[1])
    next_read.start()
    next_read.join(0.1)
    assert next_read.is_alive()
    action()
    next_read.join()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_look_at_the_first_rows_neither_waits_nor_reads_the_rest(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvtext, "BLOCK_BYTES", 4_096)
    monkeypatch.setattr(csvfile, "BLOCK_BYTES", 4_096)
    monkeypatch.setattr(csvtext, "_WAIT_SECONDS", 5)
    waits: list[bool] = []
    acquire = threading.Semaphore.acquire

    def record_acquire(self: threading.Semaphore, *arguments: Any, **options: Any) -> bool:
        waits.append(acquire(self, *arguments, **options))
        return waits[-1]

    monkeypatch.setattr(threading.Semaphore, "acquire", record_acquire)
    path = tmp_path / "file"
    path.write_bytes(pack(focus_csv()))
    batches = open_table(FocusFile(path, "file")).batches([0], [])
    next(iter(batches))
    batches.close()  # type: ignore[attr-defined]  # a generator, as every iterator of batches
    assert waits
    assert all(waits), "a block was waited for to no end"
    assert len(waits) < len(focus_csv()) // 4_096 // 2
