"""Files that are made to be dear, and what reading one costs a process of its own."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from finops.costs.focus.normalise import FocusFile, normalise
from finops.lib import child_process
from finops.lib.errors import UserError
from tests.finops.costs.focus_reader import ROW

ROWS = 65_536
MEMORY = 2**30


class Cost(msgspec.Struct):
    """What reading a file came to: its refusal, or the rows, and the most memory that it took."""

    message: str
    rows: int
    peak: int


def read_in_child(data: bytes) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bill")
        path.write_bytes(data)
        ending = child_process.run(f"{__name__}.read", str(path), name="reads", memory=MEMORY)
        assert ending.end is child_process.ChildOutcome.DONE, (ending, len(data))
        return msgspec.json.decode(path.with_name("cost").read_bytes(), type=Cost)


def read(path: str) -> None:
    """In the child."""
    file = Path(path)
    message, rows = "", 0
    try:
        bill = normalise([FocusFile(file, "bill")], folder=file.parent, source_id="1")
        for month in bill.months:
            rows += sum(batch.num_rows for batch in month.batches())
    except UserError as error:
        message = error.message
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    file.with_name("cost").write_text(json.dumps({"message": message, "rows": rows, "peak": peak}))


def constant_column(value: str, rows: int = ROWS) -> pa.Array:
    """A column that has one value in every row, and holds it once."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([value]))


def as_parquet(columns: Mapping[str, pa.Array], rows: int = ROWS, **options: Any) -> bytes:
    """A bill of so many rows, with these columns beside or instead of the usual ones."""
    usual = {name: constant_column(value, rows) for name, value in ROW.items()}
    file = io.BytesIO()
    settings = {"compression": "zstd", "store_schema": False, "write_statistics": False, **options}
    pq.write_table(pa.table({**usual, **columns}), file, **settings)
    return file.getvalue()
