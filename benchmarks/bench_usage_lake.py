"""Usage on its way: the flush against a bare Parquet write of the same rows, the merge, and a question over many events.

    python -m benchmarks usage_lake                                          # a million events, 20 seconds
    BENCH_USAGE_EVENTS=100_000_000 BENCH_USAGE_SECONDS=600 python -m benchmarks usage_lake   # as issue 5 says

A hundred million events take about 2 GB below /tmp and some minutes to write. They are of one year, of 500 customers,
3 metrics and 3 dimensions, in segments as flush and merge leave them: sorted, and of at most 16 million rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from msgspec.structs import replace

from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks.full_limit import at_full_limit, push
from benchmarks.memory import growth
from benchmarks.table import Row, timings
from finops.lake import queries, schema
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.storage import storage
from finops.lake.usage.compaction import tidy_usage
from finops.lake.usage.flush import flush_usage
from finops.lake.usage.usage_table import SORTED_BY
from ingestion.models import UsageMetric
from ingestion.queries import query_usage
from ingestion.usage_query import UsageQuery

EVENTS = int(os.environ.get("BENCH_USAGE_EVENTS", "1_000_000"))
FLUSHED = int(os.environ.get("BENCH_USAGE_FLUSHED", "250_000"))
SECONDS = int(os.environ.get("BENCH_USAGE_SECONDS", "20"))
TURNS = 5
YEAR = (date(2025, 1, 1), date(2025, 12, 31))
KEYS = ["plan", "region", "endpoint"]
COLUMNS = """
    'c-' || hash(i) % 500 AS customer_id, ['requests', 'tokens', 'seats'][1 + (hash(i, 1) % 3)::BIGINT] AS metric,
    'unit' AS unit, (hash(i, 2) % 100000 / 100)::DECIMAL(38, 12) AS quantity,
    'plan-' || hash(i, 3) % 4 AS plan, 'r-' || hash(i, 4) % 9 AS region, '/v1/' || hash(i, 5) % 40 AS endpoint
"""


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES = 0  # each turn is run
    account = Account.objects.create(name="usage", slug="usage-lake")
    rows: list[Row] = [_flush(account), _merge(account)]
    large = Account.objects.create(name="large", slug="usage-large")
    rows += [_write_row(large), *_questions(large)]
    return [*rows, *at_full_limit(SECONDS)]


def _flush(account: Account) -> Row:
    """The same rows: once by a flush, once from Arrow to a Parquet file, without sorting, PostgreSQL and fsync."""
    times, bare = [], []
    for turn in range(4):
        push(account, FLUSHED)
        start = perf_counter()
        assert flush_usage(account).events == FLUSHED
        times.append(perf_counter() - start)
        bare.append(_bare_write(account, turn))
    took, wrote = sorted(times)[1], sorted(bare)[1]
    return {
        "flush": f"{FLUSHED:,} events",
        "events/s": round(FLUSHED / took),
        "bare Parquet write events/s": round(FLUSHED / wrote),
        "flush ÷ bare": wrote / took,
    }


def _bare_write(account: Account, turn: int) -> float:
    path = queries.live_segments(account, Kind.USAGE, *YEAR).order_by("-pk")[0].path
    table = pq.read_table(_local(path))
    file = Path(storage().readable_directory, f"bare-{turn}.parquet")
    start = perf_counter()
    pq.write_table(
        table, file, compression="zstd", compression_level=1, row_group_size=segments.ROW_GROUP_ROWS
    )
    took = perf_counter() - start
    file.unlink()
    return float(took * FLUSHED / table.num_rows)


def _local(path: str) -> str:
    return storage().local(path, "")


def _merge(account: Account) -> Row:
    """Four segments into one, and the same files sorted by DuckDB into one."""
    old = [each.path for each in queries.live_segments(account, Kind.USAGE, *YEAR)]
    sort = _Timer(lambda: _sorted_by_duckdb([_local(path) for path in old]))
    merge = _Timer(lambda: tidy_usage(account))
    sorting, merging = growth(sort), growth(merge)
    rows = merge.result.rows
    return {
        "merge": f"{len(old)} segments in {merge.result.merges}",
        "rows": rows,
        "rows/s": round(rows / merge.seconds),
        "sorted by DuckDB, rows/s": round(rows / sort.seconds),
        "MB more at most": merging,
        "DuckDB's MB more": sorting,
    }


class _Timer:
    def __init__(self, action: Callable[[], Any]) -> None:
        self.action = action

    def __call__(self) -> None:
        start = perf_counter()
        self.result = self.action()
        self.seconds = perf_counter() - start


def _sorted_by_duckdb(files: list[str]) -> None:
    file = Path(storage().readable_directory, "sorted.parquet")
    with duckdb.connect() as bare:
        bare.execute(f"""
            COPY (SELECT * FROM read_parquet({files}) ORDER BY {", ".join(SORTED_BY)}) TO '{file}'
            (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {segments.ROW_GROUP_ROWS})""")
    file.unlink()


def _write_row(account: Account) -> Row:
    clock_start, months = perf_counter(), EVENTS // 12
    for month in range(1, 13):
        for start in range(0, months, 8_000_000):
            _write(account, month, months, start, min(8_000_000, months - start))
    live = list(queries.live_segments(account, Kind.USAGE, *YEAR))
    return {
        "a year of usage": f"{sum(each.rows for each in live):,} events",
        "segments": len(live),
        "MB": round(sum(each.bytes for each in live) / 10**6),
        "seconds to write": perf_counter() - clock_start,
    }


def _write(account: Account, month: int, months: int, start: int, count: int) -> None:
    full = schema.segment_schema(Kind.USAGE, KEYS)
    with duckdb.connect() as generator:
        batches = _generate(generator, month, months, start, count)
        new = segments.write_segment(
            account_id=account.pk,
            kind=Kind.USAGE,
            source_id=1,
            month=date(2025, month, 1),
            batches=(batch.cast(full) for batch in batches),
            schema=full,
        )
    segments.add_segments(account=account, kind=Kind.USAGE, source_id=1, new=[new])


def _generate(
    generator: duckdb.DuckDBPyConnection, month: int, months: int, start: int, count: int
) -> Iterator[pa.RecordBatch]:
    generator.execute("SET TimeZone = 'UTC'")
    generator.execute("SET memory_limit = '3GB'")
    generator.execute(f"SET temp_directory = '{settings.VAR_DIR}/generating'")
    generator.execute(f"""
        SELECT moment AS event_time, moment::DATE AS day, '1' AS source, customer_id, metric, unit, quantity,
               moment AS received_at, 'batch-' || i // 1000 AS batch, (i % 1000)::INTEGER AS position,
               {", ".join(f'{key} AS "dim:{key}"' for key in KEYS)}
        FROM (SELECT i, TIMESTAMPTZ '2025-{month:02}-01' + to_microseconds(i * {28 * 86_400 * 10**6 // months}) AS moment,
                     {COLUMNS}
              FROM range({start}, {start + count}) AS events(i))
        ORDER BY metric, day, customer_id""")
    yield from generator.to_arrow_reader(16_384)


QUESTIONS = [
    ("by month", "date_trunc('month', day)", UsageQuery(granularity="month")),
    ("by day", "day", UsageQuery(granularity="day")),
    ("by customer", "customer_id", UsageQuery(group_by="customer")),
    ("by a dimension", '"dim:plan"', UsageQuery(group_by="dimension:plan")),
]


def _questions(account: Account) -> Iterator[Row]:
    """Compare complete `queryUsage` answers with handwritten SQL for the same rows."""
    files = [_local(each.path) for each in queries.live_segments(account, Kind.USAGE, *YEAR)]
    with duckdb.connect() as bare, account_scope(account):
        UsageMetric.objects.bulk_create(
            UsageMetric(account=account, name=name) for name in ("requests", "tokens", "seats")
        )
        for name, group, query in QUESTIONS:
            usage_query = replace(query, metric="requests", start_date=YEAR[0], end_date=YEAR[1])
            sql = (
                f"SELECT {group}, sum(quantity) FROM read_parquet({files}) "
                f"WHERE metric = 'requests' AND day BETWEEN '{YEAR[0]}' AND '{YEAR[1]}' GROUP BY ALL"
            )
            yield _question(account, name, bare, sql, usage_query)


def _question(
    account: Account, name: str, bare: duckdb.DuckDBPyConnection, sql: str, usage_query: UsageQuery
) -> Row:
    quantity = sum(row[-1] for row in bare.execute(sql).fetchall())
    assert query_usage(account, usage_query).quantity == quantity
    by_action = timings(
        TURNS,
        bare=lambda: bare.execute(sql).to_arrow_table(),
        lake=lambda: query_usage(account, usage_query),
    )
    return {
        f"{EVENTS:,} events, a third asked": name,
        "typed into DuckDB ms": by_action["bare"].clock,
        "queryUsage ms": by_action["lake"].clock,
        "ratio": by_action["lake"].clock / by_action["bare"].clock,
        "DuckDB CPU ms": by_action["bare"].cpu,
        "queryUsage CPU ms": by_action["lake"].cpu,
    }
