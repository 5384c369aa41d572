"""Importing a native format end to end: CUR 2.0 of a month as Parquet, beside FOCUS Parquet of the same lines.

The FOCUS file holds what the mapping makes of the report: the same lines, columns and values, amounts as doubles as AWS's
exports have them. Beside both, in the same run, pyarrow reading the columns of the report that the import reads. The import
of the report must reach 0.8 of that of the FOCUS file.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from django.contrib.auth import get_user_model

from accounts.audit import Actor
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks.table import Row, timings
from finops.costs import services
from finops.costs.focus.parquetfile import ParquetFile
from finops.costs.focus.tags import pairs
from finops.costs.native.native_reader import NativeReader, native_reader
from tests.finops.costs.native.cur_files import as_parquet, month

LINES = int(os.environ.get("BENCH_NATIVE_LINES", "1000000"))
MADE = 20_000
TURNS = 3
WANTED = 0.8
ACTOR = Actor.command("bench")


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        report, focus = Path(folder, "cur2.parquet"), Path(folder, "focus.parquet")
        _write_report(report)
        reader = _reader(report)
        lines = _write_focus(reader, focus)
        columns = sorted({name for made_of in reader.mapping.columns.values() for name in made_of})
        owner = get_user_model().objects.create_user("bench@example.com")
        account = create_account(name="Bench", owner=owner, slug="bench-native")
        with account_scope(account):
            source = services.create_cost_source(account=account, name="Bench", actor=ACTOR)

            def import_file(path: Path) -> None:
                done = services.import_files(account=account, source=source, paths=[path], actor=ACTOR)
                assert done.rows == lines

            took = timings(
                TURNS,
                report=lambda: import_file(report),
                focus=lambda: import_file(focus),
                pyarrow=lambda: pq.read_table(report, columns=columns),
            )
    by_clock = took["focus"].clock / took["report"].clock
    return [
        {
            "lines": LINES,
            "rows/s": round(LINES / took["report"].clock * 1_000),
            "rows per CPU s": round(LINES / took["report"].cpu * 1_000),
            "FOCUS rows/s": round(lines / took["focus"].clock * 1_000),
            "ratio to FOCUS": by_clock,
            "ratio to FOCUS, by CPU": took["focus"].cpu / took["report"].cpu,
            "target": WANTED,
            "met": by_clock >= WANTED,
            "pyarrow read rows/s": round(LINES / took["pyarrow"].clock * 1_000),
            "ratio to pyarrow": took["pyarrow"].clock / took["report"].clock,
        }
    ]


def _write_report(path: Path) -> None:
    """The lines of May that tests make, over and over: every line type, three services and accounts, a plan, a reservation."""
    lines = [each for each in month(MADE) if each["line_item_usage_start_date"].month == 5]
    table = pq.read_table(io.BytesIO(as_parquet(lines)))
    times = LINES // table.num_rows + 1
    pq.write_table(pa.concat_tables([table] * times).slice(0, LINES), path, row_group_size=250_000)


def _reader(path: Path) -> NativeReader:
    reader = native_reader(ParquetFile(path, path.name), {})
    assert reader is not None
    return reader


def _write_focus(reader: NativeReader, path: Path) -> int:
    """What the mapping makes of the report, as a FOCUS file. The lines that it has."""
    lines = 0
    writer: pq.ParquetWriter | None = None
    for batch in _focus_batches(reader):
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch.cast(writer.schema))
        lines += batch.num_rows
    assert writer is not None
    writer.close()
    return lines


def _focus_batches(reader: NativeReader) -> Iterator[pa.Table]:
    names = reader.names
    for batch in reader.batches(range(len(names)), []):
        yield pa.table({name: _focus_values(name, batch[place]) for place, name in enumerate(names)})


def _focus_values(name: str, values: pa.Array) -> pa.Array:
    if name == "Tags":
        encoded = values.dictionary_encode()
        distinct = [None if text is None else pairs(text[1:]) for text in encoded.dictionary.to_pylist()]
        return pa.array(distinct, pa.map_(pa.string(), pa.string())).take(encoded.indices)
    if pa.types.is_decimal(values.type):
        return values.cast(pa.float64())
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
