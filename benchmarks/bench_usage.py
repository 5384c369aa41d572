"""Usage queries with events waiting in the inbox, against the same SQL typed into a DuckDB over the same files.

The bare DuckDB reads the year's segments only: what the lake takes longer is the inbox, its statement and its Arrow
table. The parts say what of it is spent where.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import duckdb
import pyarrow as pa
from django.conf import settings
from django.db import connection, transaction

from accounts.models import Account
from benchmarks.table import Row, timings
from finops.lake import queries, schema
from finops.lake.engine import compiler, engine, snapshot
from finops.lake.engine import duckdb as lake_duckdb
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.storage import storage
from finops.lake.usage import inbox

TURNS = 9
YEAR = (date(2025, 1, 1), date(2025, 12, 31))
EVENTS_A_MONTH = 250_000
CUSTOMERS, METRICS = 500, ("requests", "tokens", "seats")
WAITING = ((0, 1), (10_000, 1), (60_000, 1_000))
"""Pending events, and how many of the last came in one push."""
KEYS = ["plan", "region", "endpoint"]


def by_customer_and_month(usage: Any) -> Any:
    requests = usage.filter(usage.metric == "requests")
    return requests.group_by("customer_id", month=usage.day.truncate("M")).agg(quantity=usage.quantity.sum())


def by_plan(usage: Any) -> Any:
    return usage.filter(usage.metric == "requests").group_by("dim:plan").agg(quantity=usage.quantity.sum())


QUESTIONS = [
    ("by customer and month", by_customer_and_month, "customer_id, date_trunc('month', day)", ()),
    ("by a dimension", by_plan, '"dim:plan"', ("plan",)),
]


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES = 0  # each turn is run
    account = Account.objects.create(name="usage", slug="usage")
    rows: list[Row] = [_write_row(account)]
    compared, parts, before = [], [], 0
    for waiting, size in WAITING:
        _push(account, waiting - before, size)
        before = waiting
        compared += [_compare_with_bare(account, waiting, *question) for question in QUESTIONS]
        parts.append(_parts(account, waiting))
    return rows + compared + parts


def _write_row(account: Account) -> Row:
    full = schema.segment_schema(Kind.USAGE, KEYS)
    for month in range(1, 13):
        new = segments.write_segment(
            account_id=account.pk,
            kind=Kind.USAGE,
            source_id=1,
            month=date(2025, month, 1),
            batches=_month(month).cast(full).to_batches(),
            schema=full,
        )
        segments.add_segments(account=account, kind=Kind.USAGE, source_id=1, new=[new])
    live = list(queries.live_segments(account, Kind.USAGE, *YEAR))
    return {
        "written": f"{len(live)} segments",
        "events": f"{sum(segment.rows for segment in live):,}",
        "MB": round(sum(segment.bytes for segment in live) / 10**6),
    }


def _month(month: int) -> pa.Table:
    with duckdb.connect() as generator:
        generator.execute("SET TimeZone = 'UTC'")
        return generator.execute(f"""
            SELECT moment AS event_time, moment::DATE AS day, '1' AS source, 'c-' || hash(i) % {CUSTOMERS} AS customer_id,
                   {list(METRICS)}[1 + (hash(i, 1) % 3)::BIGINT] AS metric, 'unit' AS unit,
                   (hash(i, 2) % 100000 / 100)::DECIMAL(38, 12) AS quantity, moment AS received_at,
                   uuid()::VARCHAR AS batch, (i % 1000)::INTEGER AS position,
                   'plan-' || hash(i, 3) % 4 AS "dim:plan", 'r-' || hash(i, 4) % 9 AS "dim:region",
                   '/v1/' || hash(i, 5) % 40 AS "dim:endpoint"
            FROM (SELECT i, TIMESTAMPTZ '2025-{month:02}-01' + to_seconds(i * 9) AS moment
                  FROM range({EVENTS_A_MONTH}) AS events(i))""").to_arrow_table()


def _push(account: Account, count: int, size: int) -> None:
    events = _events(count)
    with transaction.atomic():
        while some := list(islice(events, size)):
            inbox.append(
                account=account,
                source_id=1,
                batch=uuid.uuid4(),
                received_at=datetime(2025, 12, 31, tzinfo=UTC),
                events=some,
            )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE lake_usageinbox")


def _events(count: int) -> Iterator[inbox.InboxEvent]:
    for number in range(count):
        yield inbox.InboxEvent(
            position=number,
            event_time=datetime(2025, 12, 30, tzinfo=UTC) + timedelta(seconds=number),
            customer_id=f"c-{number % CUSTOMERS}",
            metric=METRICS[number % 3],
            unit="unit",
            quantity=Decimal(number) / 100,
            dimensions=json.dumps(
                {"plan": f"plan-{number % 4}", "region": f"r-{number % 9}", "endpoint": f"/v1/{number % 40}"}
            ),
        )


def _compare_with_bare(
    account: Account, waiting: int, name: str, build: Any, group: str, keys: tuple[str, ...]
) -> Row:
    store = storage()
    files = [store.local(s.path, s.checksum) for s in queries.live_segments(account, Kind.USAGE, *YEAR)]
    sql = (
        f"SELECT {group}, sum(quantity) FROM read_parquet({files}) "
        f"WHERE metric = 'requests' AND day BETWEEN '{YEAR[0]}' AND '{YEAR[1]}' GROUP BY ALL"
    )
    with duckdb.connect() as bare:
        by_action = timings(
            TURNS,
            bare=lambda: bare.execute(sql).to_arrow_table(),
            lake=lambda: engine.run(account, Kind.USAGE, *YEAR, build, tag_keys=keys),
        )
    bare_took, lake_took = by_action["bare"], by_action["lake"]
    return {
        "a year of usage": name,
        "waiting": waiting,
        "bare DuckDB over the segments ms": bare_took.clock,
        "lake ms": lake_took.clock,
        "more ms": lake_took.clock - bare_took.clock,
        "ratio": lake_took.clock / bare_took.clock,
        "bare CPU ms": bare_took.cpu,
        "lake CPU ms": lake_took.cpu,
    }


def _parts(account: Account, waiting: int) -> Row:
    query = compiler.compile_query(Kind.USAGE, by_plan, ("plan",))
    rows = snapshot._fetch_rows(account, *YEAR, query.needed)
    values = [inbox.payload_of_row(row[3:]) for row in rows if row[3]]
    parts = snapshot.take(account, Kind.USAGE, *YEAR, query.needed)
    files = engine._local(parts.files, float("inf"))
    sql = query.sql(files, *YEAR, waiting=parts.waiting is not None)
    took = timings(
        TURNS,
        manifest=lambda: queries.segment_files(account, Kind.USAGE, *YEAR, query.needed),
        select=lambda: snapshot._fetch_rows(account, *YEAR, query.needed),
        decode=lambda: snapshot._waiting(values, *YEAR, query.needed) if values else None,
        ranges=lambda: queries.data_range(account, Kind.USAGE),
        keys=lambda: queries.dimension_keys(account),
        duckdb=lambda: lake_duckdb.instance().execute(
            sql, float("inf"), {compiler.INBOX_TABLE: parts.waiting} if parts.waiting else {}
        ),
    )
    return {
        "spent by a dimension": "",
        "waiting": waiting,
        "manifest alone ms": took["manifest"].clock,
        "manifest and inbox ms": took["select"].clock,
        "decode ms": took["decode"].clock,
        "DuckDB ms": took["duckdb"].clock,
        "data_range ms": took["ranges"].clock,
        "dimension_keys ms": took["keys"].clock,
        "KB": round(sum(len(value.data) for value in values) / 1000),
    }
