"""New questions over the lake beside the same rows in PostgreSQL, each as one would type it, in turns of one run.

BENCH_PEER_MONTHS (3, at most 12) of a million lines. PostgreSQL is the bench's own (shared_buffers as the product sets them): a table with every column
that the lines fill, an index on the day, analysed; parallel plans as it chooses. Wanted: 8 times slower at least.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from django.conf import settings
from django.db import connection

from accounts.models import Account
from benchmarks import lake_data
from benchmarks.bench_lake import QUESTIONS, YEAR, Question, _files
from benchmarks.cpu import cpu_seconds, postmaster
from benchmarks.table import Row, timings
from finops.lake.engine import engine
from finops.lake.schema import Kind

MONTHS = int(os.environ.get("BENCH_PEER_MONTHS", "3"))
TURNS = 3
WANTED = 8.0


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES, settings.LAKE_DEADLINE_SECONDS = 0, 600
    account = Account.objects.create(name="peer", slug="peer")
    # The month of the question about 30 days is the sixth.
    first = min(5, 12 - MONTHS)
    months = lake_data.months(YEAR[0].year)[first : first + MONTHS]
    lake_data.make_months(account, months, lake_data.FEW_TAGS)
    _copy_to_postgres(account)
    return [_compare(account, question) for question in QUESTIONS]


def _copy_to_postgres(account: Account) -> None:
    files = _files(account, YEAR)
    csv = Path(settings.VAR_DIR, "lines.csv")
    with duckdb.connect() as bare:
        columns = bare.execute(f"DESCRIBE SELECT * FROM read_parquet({files})").fetchall()
        counts = bare.execute(
            f"SELECT {', '.join(_name_count(name) for name, *_ in columns)} FROM read_parquet({files})"
        ).fetchone()
        assert counts is not None
        filled = [(name, type_) for (name, type_, *_), count in zip(columns, counts, strict=True) if count]
        names = ", ".join(f'"{name}"' for name, _ in filled)
        bare.execute(f"COPY (SELECT {names} FROM read_parquet({files})) TO '{csv}' (HEADER false)")
    types = {"VARCHAR": "text", "DATE": "date"}
    table = ", ".join(f'"{name}" {types.get(type_, "numeric(38, 18)")}' for name, type_ in filled)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE UNLOGGED TABLE bench_lines ({table})")
        with csv.open("rb") as lines, cursor.copy("COPY bench_lines FROM STDIN (FORMAT csv)") as copy:
            while part := lines.read(1 << 20):
                copy.write(part)
        cursor.execute("CREATE INDEX ON bench_lines (charge_date)")
        cursor.execute("VACUUM ANALYZE bench_lines")
    csv.unlink()


def _name_count(name: str) -> str:
    return f'count("{name}")'


def _compare(account: Account, question: Question) -> Row:
    start, end = question.days
    typed = question.typed.format(files="bench_lines", start=start, end=end)
    typed = typed.replace("read_parquet(bench_lines)", "bench_lines").replace(
        "GROUP BY ALL", _group_by(question)
    )

    def of_postgres() -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(typed.replace("%", "%%"))
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def of_lake() -> pa.Table:
        return engine.run(account, Kind.COST, *question.days, question.build, tag_keys=question.keys)

    groups = len(of_postgres()) == of_lake().num_rows
    by_action = timings(TURNS, postgres=of_postgres, lake=of_lake)
    used = cpu_seconds(postmaster())
    of_postgres()
    postgres_cpu = (cpu_seconds(postmaster()) - used) * 1_000
    ratio = by_action["postgres"].clock / by_action["lake"].clock
    return {
        "query": question.name,
        "lines": f"{MONTHS * lake_data.LINES_A_MONTH:,}",
        "PostgreSQL ms": by_action["postgres"].clock,
        "lake ms": by_action["lake"].clock,
        "PostgreSQL is slower by": ratio,
        "PostgreSQL CPU ms": postgres_cpu,
        "lake CPU ms": by_action["lake"].cpu,
        "CPU ratio": postgres_cpu / by_action["lake"].cpu,
        "target": WANTED,
        "met": ratio >= WANTED,
        "as many groups": groups,
    }


def _group_by(question: Question) -> str:
    return (
        "GROUP BY 1, 2"
        if "AS month" in question.typed or "charge_date, service" in question.typed
        else "GROUP BY 1"
    )
