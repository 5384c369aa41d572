"""Work of one large account by one worker, two and four: an import in parts, its rollups, and merges of usage.

BENCH_PARTS_FILES (8) Parquet files of FOCUS, and as many of an AWS Cost and Usage Report, with BENCH_PARTS_ROWS (25,000) lines each
are imported in one piece, then in parts of a file; the segments of the parts get rollups; BENCH_PARTS_EVENTS (512,000) events of eight months are merged from
sixteen segments a month. Workers are processes that have started before; each number of them has its turn, BENCH_PARTS_TURNS
(3) times. Processor seconds are those of all workers together. What more cores would make of them is arithmetic.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import median
from uuid import uuid4

import numpy as np
import pyarrow as pa
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks.cur_reports import write_reports
from benchmarks.focus_files import SEED, write_csv, write_parquet
from benchmarks.table import Row
from finops.costs import services
from finops.costs.models import CostImport, CostSource
from finops.lake import schema
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.usage.usage_table import SORTED_BY

FILES = int(os.environ.get("BENCH_PARTS_FILES", "8"))
ROWS = int(os.environ.get("BENCH_PARTS_ROWS", "25_000"))
EVENTS = int(os.environ.get("BENCH_PARTS_EVENTS", "512_000"))
TURNS = int(os.environ.get("BENCH_PARTS_TURNS", "3"))
WORKERS = (1, 2, 4)
MONTHS, SEGMENTS = 8, 16
LARGE = 100_000_000
"""Lines of the month, and events of the year, for the projection."""

Worker = subprocess.Popen[str]
Spent = tuple[float, float]
"""Seconds of the clock, and of the processors."""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, ExitStack() as stack:
        files = _files(Path(folder))
        reports = list(write_reports(Path(folder), FILES * ROWS, FILES))
        whole = stack.enter_context(_worker(1 << 40))
        workers = [stack.enter_context(_worker(1)) for _ in range(max(WORKERS))]
        turns: dict[str, list[Spent]] = {}
        for turn in range(TURNS + 1):
            for name, spent in _turn(files, reports, whole, workers):
                if turn:  # the first one imports what a process needs
                    turns.setdefault(name, []).append(spent)
    return _rows(turns)


def _turn(
    files: Sequence[Path], reports: Sequence[Path], whole: Worker, workers: Sequence[Worker]
) -> Iterator[tuple[str, Spent]]:
    yield "import in one piece", _import(files, [whole])[1]
    yield "report in one piece", _import(reports, [whole])[1]
    for count in WORKERS:
        yield f"report in parts by {count}", _import(reports, workers[:count])[1]
        account, spent = _import(files, workers[:count])
        yield f"import in parts by {count}", spent
        yield f"rollups by {count}", _roll_up(account, workers[:count])
        yield f"merges by {count}", _merge(workers[:count])


def _rows(turns: dict[str, list[Spent]]) -> list[Row]:
    clock_of = {name: median(clock_ for clock_, _ in each) for name, each in turns.items()}
    cpu_of = {name: median(cpu for _, cpu in each) for name, each in turns.items()}
    lines = {"import": FILES * ROWS, "report": FILES * ROWS, "rollups": FILES * ROWS, "merges": EVENTS}
    measured: list[Row] = [
        {
            "work": name,
            "lines": lines[name.split()[0]],
            "s": clock_of[name],
            "processor s": cpu_of[name],
            "lines per processor s": round(lines[name.split()[0]] / cpu_of[name]),
        }
        for name in sorted(turns)
    ]
    arithmetic: list[Row] = [
        {
            "100,000,000 lines, a core each": work,
            **{
                f"{count} workers, minutes": cpu_of[f"{work} by {count}"]
                / lines[work.split()[0]]
                * LARGE
                / 60
                / count
                for count in WORKERS
            },
            "how": "processor seconds of so many, over cores of their own",
        }
        for work in ("import in parts", "report in parts", "rollups", "merges")
    ]
    return [*measured, *arithmetic]


def _files(folder: Path) -> list[Path]:
    paths = []
    for number in range(FILES):
        plain, path = folder / "focus.csv", folder / f"focus-{number}.parquet"
        write_csv(plain, ROWS, SEED + number)
        write_parquet(plain, path)
        paths.append(path)
    return paths


def _account() -> Account:
    name = f"parts-{uuid4().hex[:12]}"
    return Account.objects.create(name=name, slug=name)


def _import(files: Sequence[Path], workers: Sequence[Worker]) -> tuple[Account, Spent]:
    account = _account()
    uploads = [SimpleUploadedFile(path.name, path.read_bytes()) for path in files]
    with account_scope(account):
        source = CostSource.objects.create(account=account, name="Bill")
        job = services.queue_import(source=source, uploads=uploads, actor=Actor.command("bench"))
    spent = _work(workers, [f"run {job.pk}", *[f"help {job.pk}"] * (len(workers) - 1)])
    job = CostImport.objects.unscoped().get(pk=job.pk)
    assert job.status == "done", job.error
    assert job.rows >= FILES * ROWS * 0.9  # a report's negations are no lines
    return account, spent


def _roll_up(account: Account, workers: Sequence[Worker]) -> Spent:
    spent = _work(workers, [f"rollups {account.pk}"] * len(workers))
    segments_left = LakeSegment.objects.unscoped().filter(account=account, summarised_at=None)
    assert not segments_left.exists()
    return spent


def _merge(workers: Sequence[Worker]) -> Spent:
    account = _account()
    for month in range(1, MONTHS + 1):
        _write_events(account, date(2025, month, 1), EVENTS // MONTHS // SEGMENTS)
    spent = _work(workers, [f"merges {account.pk}"] * len(workers))
    live = LakeSegment.objects.unscoped().filter(account=account, retired_at=None)
    assert live.count() == MONTHS
    return spent


def _write_events(account: Account, month: date, rows: int) -> None:
    for number in range(SEGMENTS):
        table = _events(month, number, rows)
        new = segments.write_segment(
            account_id=account.pk,
            kind=Kind.USAGE,
            source_id=1,
            month=month,
            batches=table.to_batches(),
            schema=table.schema,
        )
        segments.add_segments(account=account, kind=Kind.USAGE, source_id=1, new=[new])


@cache
def _events(month: date, number: int, rows: int) -> pa.Table:
    full = schema.segment_schema(Kind.USAGE, ["plan"])
    random = np.random.default_rng(month.toordinal() + number)
    first = datetime(month.year, month.month, 1, tzinfo=UTC)
    days = [int(day) for day in random.integers(0, 28, rows)]
    columns = {
        "event_time": [first + timedelta(days=day) for day in days],
        "day": [month + timedelta(days=day) for day in days],
        "source": ["1"] * rows,
        "customer_id": [f"c-{each}" for each in random.integers(0, 500, rows)],
        "metric": ["requests"] * rows,
        "unit": ["unit"] * rows,
        "quantity": pa.array(random.integers(0, 10**6, rows)).cast(pa.decimal128(38, 12)),
        "received_at": [first] * rows,
        "batch": [f"batch-{number}"] * rows,
        "position": range(rows),
        "dim:plan": [f"plan-{each}" for each in random.integers(0, 4, rows)],
    }
    arrays = [pa.array(columns[field.name], field.type) for field in full]
    return pa.table(arrays, schema=full).sort_by([(name, "ascending") for name in SORTED_BY])


@contextmanager
def _worker(part_bytes: int) -> Iterator[Worker]:
    environment = {**os.environ, "IMPORT_PART_BYTES": str(part_bytes)}
    command = [sys.executable, "-m", "benchmarks.part_process"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _work(workers: Sequence[Worker], words: Sequence[str]) -> Spent:
    start = time.perf_counter()
    for worker, word in zip(workers, words, strict=True):
        assert worker.stdin is not None
        worker.stdin.write(f"{word}\n")
        worker.stdin.flush()
    cpu = 0.0
    for worker in workers:
        assert worker.stdout is not None
        cpu += float(worker.stdout.readline())
    return time.perf_counter() - start, cpu
