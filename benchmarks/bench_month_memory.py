"""Peak memory of importing a large month: resident memory of the worker's child process with 10 million lines."""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks.cur_reports import write_reports
from benchmarks.focus_files import write_csv
from benchmarks.table import Row
from finops.costs import services
from finops.costs.services import attempts
from finops.lib import child_process
from finops.lib.child_process import ChildResult

LINES = int(os.environ.get("BENCH_MONTH_LINES", "10000000"))
DIFFERENT = 500_000
FILES = 20
WANTED_MB = 1_024
ACTOR = Actor.command("bench")


def measure() -> list[Row]:
    owner = get_user_model().objects.create_user("bench@example.com")
    account = create_account(name="Bench", owner=owner, slug="bench-memory")
    with account_scope(account):
        return [
            _row(account, "CUR 2.0 Parquet", _parquet_files),
            _row(account, "FOCUS 1.3 CSV.gz", _csv_files),
        ]


def _row(account: Account, form: str, make: Callable[[Path], Iterator[Path]]) -> Row:
    source = services.create_cost_source(account=account, name=form, actor=ACTOR)
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        paths = list(make(Path(name)))
        size = sum(path.stat().st_size for path in paths)
        results: list[ChildResult] = []

        def run(*arguments: Any, **options: Any) -> ChildResult:
            results.append(child_process.run(*arguments, **options))
            return results[-1]

        in_attempts: Any = attempts
        in_attempts.child_process = _Recorder(run)
        try:
            started = time.monotonic()
            job = services.import_files(
                account=account, source=source, paths=paths, actor=ACTOR, in_child=True
            )
            took = time.monotonic() - started
        finally:
            in_attempts.child_process = child_process
    most = max(result.peak_bytes for result in results) / 2**20
    return {
        "month": form,
        "lines of the files": LINES,
        "lines imported": job.rows,
        "MB": round(size / 10**6),
        "seconds": round(took),
        "peak, MB": round(most),
        "target, MB": WANTED_MB,
        "met": most < WANTED_MB,
    }


class _Recorder:
    """Replacement for `finops.lib.child_process` with the one function that imports call."""

    def __init__(self, run: Callable[..., ChildResult]) -> None:
        self.run = run


def _parquet_files(folder: Path) -> Iterator[Path]:
    return write_reports(folder, LINES, FILES, different=DIFFERENT)


def _csv_files(folder: Path) -> Iterator[Path]:
    """Write files with one unique line and then the same lines, compressed once: a gzip file can have several
    members."""
    plain = folder / "plain.csv"
    write_csv(plain, LINES // FILES - 1)
    with plain.open("rb") as file:
        header = file.readline()
        packed = gzip.compress(file.read(), compresslevel=1)
    for number in range(FILES):
        write_csv(plain, 1, seed=number)
        line = plain.read_bytes()[len(header) :]
        path = folder / f"focus-{number:05d}.csv.gz"
        path.write_bytes(gzip.compress(header + line) + packed)
        yield path
    plain.unlink()
