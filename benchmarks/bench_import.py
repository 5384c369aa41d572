"""Importing FOCUS end to end: from a file on disk to rows that queries see.

Beside it, in the same run: pyarrow reading the same file as text and writing it as Parquet, which checks nothing and
loses exactness, and DuckDB's COPY of the same columns as text. Import must reach 150,000 rows/s of CSV and 400,000 of
Parquet on two cores.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from django.contrib.auth import get_user_model

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks.focus_files import write_csv, write_parquet
from benchmarks.table import Row, timings
from finops.costs import services
from finops.costs.models import CostSource

ROWS = int(os.environ.get("BENCH_IMPORT_ROWS", "600000"))
TURNS = 3
ACTOR = Actor.command("bench")
WANTED = {"CSV": 150_000, "CSV, gzip": 0, "Parquet": 400_000}


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        files = _files(Path(folder))
        owner = get_user_model().objects.create_user("bench@example.com")
        account = create_account(name="Bench", owner=owner, slug="bench-import")
        with account_scope(account):
            source = services.create_cost_source(account=account, name="Bench", actor=ACTOR)
            rows = [_row(account, source, form, file, Path(folder)) for form, file in files.items()]
        memory = [_memory(file, times) for file in (files["CSV"], files["Parquet"]) for times in (1, 4)]
    return [*rows, *memory]


def _files(folder: Path) -> dict[str, Path]:
    plain, packed, parquet = (folder / f"focus.{ending}" for ending in ("csv", "csv.gz", "parquet"))
    write_csv(plain, ROWS)
    write_parquet(plain, parquet)
    with plain.open("rb") as file, gzip.open(packed, "wb", compresslevel=6) as into:
        shutil.copyfileobj(file, into)
    return {"CSV": plain, "CSV, gzip": packed, "Parquet": parquet}


def _row(account: Account, source: CostSource, form: str, file: Path, folder: Path) -> Row:
    def through_finops() -> None:
        done = services.import_files(account=account, source=source, paths=[file], actor=ACTOR)
        assert done.rows == ROWS

    by_action = timings(
        TURNS,
        finops=through_finops,
        pyarrow=_by_pyarrow(form, file, folder),
        duckdb=_by_duckdb(form, file, folder),
    )
    speed = ROWS / by_action["finops"].clock * 1_000
    return {
        "file": form,
        "MB": round(file.stat().st_size / 10**6),
        "rows/s": round(speed),
        "target": WANTED[form],
        "met": speed >= WANTED[form],
        "rows per CPU s": round(ROWS / by_action["finops"].cpu * 1_000),
        "pyarrow rows/s": round(ROWS / by_action["pyarrow"].clock * 1_000),
        "ratio to pyarrow": by_action["pyarrow"].clock / by_action["finops"].clock,
        "DuckDB COPY rows/s": round(ROWS / by_action["duckdb"].clock * 1_000),
        "ratio to DuckDB": by_action["duckdb"].clock / by_action["finops"].clock,
    }


def _by_pyarrow(form: str, file: Path, folder: Path) -> Callable[[], object]:
    into = folder / "pyarrow.out"
    if form == "Parquet":
        return lambda: pq.write_table(pq.read_table(file), into)
    return lambda: pq.write_table(pacsv.read_csv(file), into)


def _by_duckdb(form: str, file: Path, folder: Path) -> Callable[[], object]:
    read = f"read_parquet('{file}')" if form == "Parquet" else f"read_csv('{file}', all_varchar = true)"
    sql = f"COPY (SELECT * FROM {read}) TO '{folder / 'duckdb.out'}' (FORMAT parquet, COMPRESSION zstd)"
    return lambda: duckdb.sql(sql)


_READ = """
import sys, tempfile
from pathlib import Path
from finops.costs.focus.normalise import FocusFile, normalise
with tempfile.TemporaryDirectory() as folder:
    files = [FocusFile(Path(sys.argv[1]), "focus")] * int(sys.argv[2])
    for month in normalise(files, folder=Path(folder), source_id="1").months:
        for batch in month.batches():
            pass
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def _memory(file: Path, times: int) -> Row:
    """Return the peak memory (Linux) of a separate process that imports the file this many times in one import."""
    command = [sys.executable, "-c", _READ, str(file), str(times)]
    kilobytes = int(subprocess.check_output(command, cwd=Path(__file__).parents[1]))
    return {"file": file.name, "rows": ROWS * times, "most memory, MB": round(kilobytes / 1024)}
