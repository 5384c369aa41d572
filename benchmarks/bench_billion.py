"""An account with a billion lines, by DuckDB and by Sail: seconds, processor seconds, and a projection for more
cores.

Twelve months of a million lines are written and hard-linked under other names until there are BENCH_BILLION_LINES
(1,000,000,000); one more month with different amounts is written separately, so that a sum would reveal if a file was
read instead of another. All links are opened and their columns decoded. Sail runs as a local cluster of two workers
on the same machine. Processor seconds are the engine's own and depend little on other load; wall-clock seconds do.
"""

from __future__ import annotations

import os
import subprocess
import time
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from accounts.models import Account
from benchmarks import lake_data
from benchmarks.bench_lake import QUESTIONS, YEAR
from benchmarks.cpu import cpu_seconds
from benchmarks.table import Row
from finops.lake.engine import engine, spark
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.storage import storage
from tests.sail import sail_process

LINES = int(os.environ.get("BENCH_BILLION_LINES", "1_000_000_000"))
ENGINES = os.environ.get("BENCH_BILLION_ENGINES", "duckdb,sail").split(",")
LINES_A_YEAR = 12 * lake_data.LINES_A_MONTH
OTHER_MONTH = date(2024, 12, 1)
SECONDS = 3_600.0
TARGETS = {"a year by service and month": 5.0, "a year's top 20 resources": 20.0}
WORKERS, CORES = 4, 8
"""Machines of the target cluster, and cores per machine."""


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES, settings.LAKE_DEADLINE_SECONDS = 0, SECONDS
    settings.SPARK_MIN_BYTES = 0
    account = Account.objects.create(name="billion", slug="billion")
    lake_data.make_year(account, YEAR[0].year, lake_data.FEW_TAGS)
    _write_other_month(account)
    years = max(1, LINES // LINES_A_YEAR)
    _link_years(account, years)
    rows: list[Row] = []
    with sail_process() as (address, process):
        try:
            for question in (each for each in QUESTIONS if each.name in TARGETS):
                rows += _compare(account, question, address, process)
        finally:
            spark.close()
    return rows


def _write_other_month(account: Account) -> None:
    """Write every amount with the opposite sign, so that its sums differ from those of all links."""
    batches = list(lake_data._batches(OTHER_MONTH, lake_data.FEW_TAGS))
    place = batches[0].schema.get_field_index("billed_cost")
    new = segments.write_segment(
        account_id=account.pk,
        kind=Kind.COST,
        source_id=1,
        month=OTHER_MONTH,
        batches=(_negate(batch, place) for batch in batches),
        schema=batches[0].schema,
    )
    segments.swap_segments(account=account, kind=Kind.COST, source_id=1, months=[OTHER_MONTH], new=[new])


def _negate(batch: pa.RecordBatch, place: int) -> pa.RecordBatch:
    amounts = pc.negate(batch.column(place))
    return batch.set_column(place, batch.schema.field(place), amounts)


def _link_years(account: Account, years: int) -> None:
    """Link the year's files under other names, as if from more sources, until there are enough years."""
    of_year = list(LakeSegment.objects.unscoped().filter(account=account).exclude(month=OTHER_MONTH))
    rows = []
    for source in range(2, years + 1):
        for segment in of_year:
            path = f"{account.pk}/cost/{source}-{Path(segment.path).name}"
            lake_data._put(Path(storage().local(segment.path, segment.checksum)), path)
            values = {
                field.name: getattr(segment, field.name)
                for field in LakeSegment._meta.fields
                if field.name != "id"
            }
            rows.append(LakeSegment(**{**values, "source_id": source, "path": path}))
    LakeSegment.objects.unscoped().bulk_create(rows)


def _compare(account: Account, question: Any, address: str, process: subprocess.Popen[str]) -> list[Row]:
    days = (OTHER_MONTH, YEAR[1])
    live = LakeSegment.objects.unscoped().filter(account=account)
    lines = sum(live.values_list("rows", flat=True))
    rows: list[Row] = []
    answers = []
    for name in ENGINES:
        settings.SPARK_REMOTE = address if name == "sail" else ""
        used, start = _processor_seconds(process, name), time.perf_counter()
        answer = engine.run(account, Kind.COST, *days, question.build)
        clock, cpu = time.perf_counter() - start, _processor_seconds(process, name) - used
        answers.append(sorted(repr(row) for row in answer.to_pylist()))
        rows.append(
            {
                "query": question.name,
                "engine": name,
                "files": live.count(),
                "lines": f"{lines:,}",
                "seconds": clock,
                "processor seconds": cpu,
                "for a billion lines": cpu * 10**9 / lines,
                f"on {WORKERS} workers of {CORES} cores, s": cpu * 10**9 / lines / (WORKERS * CORES),
                "target, s": TARGETS[question.name],
                "same answer": all(each == answers[0] for each in answers),
            }
        )
    return rows


def _processor_seconds(process: subprocess.Popen[str], name: str) -> float:
    return cpu_seconds(process.pid) if name == "sail" else time.process_time()
