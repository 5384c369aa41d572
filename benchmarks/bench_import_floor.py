"""Processor time of an import, compared with the minimum for reading the same files and writing the same segment.

*read*: pyarrow reads the mapped columns without conversion. *write*: the lake's writer writes the finished lines,
with digest and fsync. Their sum is the floor for any program that stores the lines. *import* reads, maps, validates and writes. Seconds
of CPU, the median of alternating turns, to reduce the effect of other load.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.azure_files import write_exports
from benchmarks.cur_reports import write_reports
from benchmarks.focus_files import write_csv
from benchmarks.table import Row, timings
from finops.costs.focus.formats import AUTOMATIC
from finops.costs.focus.normalise import FocusFile, NormalisedBill, normalise
from finops.costs.focus.open_files import open_files
from finops.costs.native.native_reader import NativeReader
from finops.lake.schema import Kind
from finops.lake.storage import segments

LINES = int(os.environ.get("BENCH_FLOOR_LINES", "240000"))
FILES = 3
TURNS = 6


def measure() -> list[Row]:
    return [
        _row(form, write)
        for form, write in (
            ("CUR 2.0 Parquet", lambda folder: write_reports(folder, LINES, FILES)),
            ("Azure CSV.gz", lambda folder: write_exports(folder, LINES, FILES)),
            ("FOCUS 1.3 CSV.gz", _focus_files),
        )
    ]


def _focus_files(folder: Path) -> Iterator[Path]:
    plain = folder / "plain.csv"
    for number in range(FILES):
        write_csv(plain, LINES // FILES, seed=number)
        packed = folder / f"part-{number:05d}.csv.gz"
        with plain.open("rb") as file, gzip.open(packed, "wb", compresslevel=6) as into:
            shutil.copyfileobj(file, into)
        yield packed


def _row(form: str, write_files: Callable[[Path], Iterable[Path]]) -> Row:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        files = [FocusFile(path=path, name=path.name) for path in write_files(folder)]
        columns = _mapped_columns(files)
        (month,) = _bill(files, folder / "lines").months
        lines = list(month.batches())
        took = timings(
            TURNS,
            read=lambda: [_read(each.path, columns) for each in files],
            write=lambda: _write(lines, month.month, month.schema),
            import_=lambda: _import(files, folder / "import"),
        )
    read, write, whole = (took[action].cpu / 1_000 for action in ("read", "write", "import_"))
    return {
        "files": form,
        "lines": sum(each.num_rows for each in lines),
        "columns read": len(columns),
        "columns written": len(month.schema),
        "read, CPU s": read,
        "write, CPU s": write,
        "import, CPU s": whole,
        "read / import": read / whole,
        "read / floor": read / (read + write),
        "floor / import": (read + write) / whole,
    }


def _mapped_columns(files: list[FocusFile]) -> list[str]:
    """Return the mapped columns of the files, in any order; for FOCUS all columns."""
    reader = open_files(files, {}, AUTOMATIC)[0].reader
    if not isinstance(reader, NativeReader):
        return list(reader.names)
    return sorted({name for made_of in reader.mapping.columns.values() for name in made_of})


def _bill(files: list[FocusFile], folder: Path) -> NormalisedBill:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return normalise(files, folder=folder, source_id="1")


def _read(path: Path, columns: list[str]) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path, columns=columns)
    options = pacsv.ConvertOptions(include_columns=columns)
    parse = pacsv.ParseOptions(newlines_in_values=True)
    with pa.input_stream(path, compression="gzip") as file:
        return pacsv.read_csv(file, parse_options=parse, convert_options=options)


def _write(lines: Iterable[pa.RecordBatch], month: date, schema: pa.Schema) -> None:
    segments.write_segment(
        account_id=1, kind=Kind.COST, source_id=1, month=month, batches=lines, schema=schema
    )


def _import(files: list[FocusFile], folder: Path) -> None:
    (month,) = _bill(files, folder).months
    _write(month.batches(), month.month, month.schema)
