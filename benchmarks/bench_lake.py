"""Lake queries compared with the same SQL in a separate DuckDB over the same files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import ibis
import pyarrow as pa
from django.conf import settings

from accounts.models import Account
from benchmarks import lake_data
from benchmarks.table import Row, timings
from finops.lake import queries
from finops.lake.engine import engine
from finops.lake.engine.compiler import Build
from finops.lake.schema import Kind
from finops.lake.storage.storage import storage

TURNS = 5
YEAR = (date(2025, 1, 1), date(2025, 12, 31))
DAYS = (date(2025, 6, 14), date(2025, 7, 13))
SHARE, ALLOWANCE = 1.3, 10.0
"""An engine query may take 1.3 times the bare one, plus 10 ms."""


@dataclass(frozen=True)
class Question:
    """The same query twice: as an expression and as handwritten SQL. {files} stands for the list of files."""

    name: str
    days: tuple[date, date]
    build: Build
    typed: str
    keys: tuple[str, ...] = ()


QUESTIONS = [
    Question(
        "a year by service and month",
        YEAR,
        lambda cost: cost.group_by("service", month=cost.charge_date.truncate("M")).agg(
            total=cost.billed_cost.sum()
        ),
        "SELECT service, date_trunc('month', charge_date) AS month, sum(billed_cost) AS total "
        "FROM read_parquet({files}) WHERE charge_date BETWEEN '{start}' AND '{end}' GROUP BY ALL",
    ),
    Question(
        "30 days by day and service",
        DAYS,
        lambda cost: cost.group_by("charge_date", "service").agg(total=cost.billed_cost.sum()),
        "SELECT charge_date, service, sum(billed_cost) AS total "
        "FROM read_parquet({files}) WHERE charge_date BETWEEN '{start}' AND '{end}' GROUP BY ALL",
    ),
    Question(
        "a year by a tag key",
        YEAR,
        lambda cost: cost.group_by("tag:team").agg(total=cost.billed_cost.sum()),
        'SELECT "tag:team", sum(billed_cost) AS total '
        "FROM read_parquet({files}) WHERE charge_date BETWEEN '{start}' AND '{end}' GROUP BY ALL",
        ("team",),
    ),
    Question(
        "a year's top 20 resources",
        YEAR,
        lambda cost: (
            cost.group_by("resource_id")
            .agg(total=cost.billed_cost.sum())
            .order_by(ibis.desc("total"))
            .limit(20)
        ),
        "SELECT resource_id, sum(billed_cost) AS total FROM read_parquet({files}) "
        "WHERE charge_date BETWEEN '{start}' AND '{end}' GROUP BY ALL ORDER BY total DESC LIMIT 20",
    ),
]


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES = 0  # each turn is run
    few, many, five_years = (Account.objects.create(name=name, slug=name) for name in ("few", "many", "five"))
    rows = [_rollup_bytes(few, lake_data.FEW_TAGS), _rollup_bytes(many, lake_data.MANY_TAGS)]
    lake_data.link_earlier_years(five_years, few, 5)
    for label, account in (("41 columns", few), ("238 columns", many)):
        rows += [_compare_with_bare(question, label, account) for question in QUESTIONS]
    rows.append(_five_years_against_one(five_years, few))
    rows += _scales(few)
    return rows


def _rollup_bytes(account: Account, keys: list[str]) -> Row:
    start = perf_counter()
    lake_data.make_year(account, YEAR[0].year, keys)
    seconds = perf_counter() - start
    live = list(queries.live_segments(account, Kind.COST, *YEAR))
    lines = sum(segment.rows for segment in live)
    return {
        "written": f"{len(live)} segments with {len(keys)} tag columns",
        "lines": f"{lines:,}",
        "MB": round(sum(segment.bytes for segment in live) / 10**6),
        "lines per second (with generation)": f"{lines / seconds:,.0f}",
    }


def _files(account: Account, days: tuple[date, date]) -> list[str]:
    store = storage()
    return [store.local(s.path, s.checksum) for s in queries.live_segments(account, Kind.COST, *days)]


def _question_action(question: Question, account: Account) -> Callable[[], pa.Table]:
    return lambda: engine.run(account, Kind.COST, *question.days, question.build, tag_keys=question.keys)


def _bare_action(
    question: Question, account: Account, bare: duckdb.DuckDBPyConnection
) -> Callable[[], pa.Table]:
    start, end = question.days
    sql = question.typed.format(files=_files(account, question.days), start=start, end=end)
    return lambda: bare.execute(sql).to_arrow_table()


def _compare_with_bare(question: Question, label: str, account: Account) -> Row:
    with duckdb.connect() as bare:
        lake_action, typed = _question_action(question, account), _bare_action(question, account, bare)
        same = _sort_rows(lake_action()) == _sort_rows(typed())
        by_action = timings(TURNS, bare=typed, lake=lake_action)
    bare_took, lake_took = by_action["bare"], by_action["lake"]
    limit = bare_took.clock * SHARE + ALLOWANCE
    return {
        "query": question.name,
        "files": label,
        "bare DuckDB ms": bare_took.clock,
        "lake ms": lake_took.clock,
        "ratio": lake_took.clock / bare_took.clock,
        "limit ms": limit,
        "within limit": lake_took.clock <= limit,
        "bare CPU ms": bare_took.cpu,
        "lake CPU ms": lake_took.cpu,
        "same answer": same,
    }


def _sort_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(
        (tuple(str(value)[:40] for value in row.values()) for row in _dates(table).to_pylist()), key=str
    )


def _dates(table: pa.Table) -> pa.Table:
    """Convert dates, because date_trunc returns a timestamp in DuckDB and a date in the lake."""
    types = [pa.date32() if pa.types.is_timestamp(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


def _five_years_against_one(five: Account, one: Account) -> Row:
    question = QUESTIONS[1]
    by_action = timings(TURNS, one=_question_action(question, one), five=_question_action(question, five))
    return {
        "query": question.name,
        "one year ms": by_action["one"].clock,
        "five years ms": by_action["five"].clock,
        "ratio": by_action["five"].clock / by_action["one"].clock,
        "within 1.5": by_action["five"].clock <= by_action["one"].clock * 1.5,
        "one year CPU ms": by_action["one"].cpu,
        "five years CPU ms": by_action["five"].cpu,
    }


def _scales(account: Account) -> list[Row]:
    """Compare 18 decimals with 12 and with a 64-bit number: the same three columns, written by DuckDB."""
    files = _files(account, YEAR)
    folder = Path(files[0]).parent
    actions, sizes = {}, {}
    with duckdb.connect() as bare:
        for type_ in ("DECIMAL(38,18)", "DECIMAL(38,12)", "DECIMAL(18,6)"):
            copy = folder / f"{type_}.scale"
            bare.execute(
                f"COPY (SELECT charge_date, service, billed_cost::{type_} AS billed_cost FROM read_parquet({files})) "
                f"TO '{copy}' (FORMAT parquet, COMPRESSION zstd)"
            )
            sql = f"SELECT service, sum(billed_cost) FROM read_parquet('{copy}') GROUP BY ALL"
            actions[type_] = lambda sql=sql: bare.execute(sql).to_arrow_table()
            sizes[type_] = copy.stat().st_size
        by_action = timings(TURNS, **actions)
    return [
        {
            "type of amounts": type_,
            "a year by service ms": by_action[type_].clock,
            "CPU ms": by_action[type_].cpu,
            "MB of three columns": round(sizes[type_] / 10**6),
        }
        for type_ in actions
    ]
