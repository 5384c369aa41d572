"""Every query that DuckDB answers is run on a Spark Connect server too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from django.test import override_settings

from accounts.models import Account
from finops.lake.engine import engine, spark
from finops.lake.engine.compiler import Currency, Query
from finops.lake.engine.snapshot import Snapshot

OF_NOBODY = 0
"""The session of all accounts: the test compares, and no account's question goes there."""


@dataclass
class Comparison:
    """Queries by identity, and what differed."""

    queries: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    converted: int = 0
    differences: list[str] = field(default_factory=list)


@contextmanager
def compare_engines(remote: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Comparison]:
    """Inside, whatever is asked of the lake is compared, each query once."""
    comparison, of_duckdb = Comparison(), engine._answer_of_this_machine

    def answer(
        account: Account,
        query: Query,
        start: date,
        end: date,
        currency: Currency | None,
        deadline: float,
        live: Snapshot,
    ) -> pa.Table:
        table = of_duckdb(account, query, start, end, currency, deadline, live)
        key = f"{query.identity} {start} {end} {currency.currency if currency else ''} {len(live.files)} {live.waiting is None}"
        if key not in comparison.queries:
            comparison.converted += currency is not None and currency.rates is not None
            comparison.queries.add(key)
            comparison.kinds.add(query.kind)
            _compare(comparison, query, table, lambda: _on_spark(query, start, end, currency, deadline, live))
        return table

    with monkeypatch.context() as patched, override_settings(SPARK_REMOTE=remote):
        patched.setattr(engine, "_answer_of_this_machine", answer)
        patched.setattr("finops.lake.engine.routing.spark.is_configured", lambda: False)
        yield comparison


def _on_spark(
    query: Query, start: date, end: date, currency: Currency | None, deadline: float, live: Snapshot
) -> pa.Table:
    return spark.execute(
        account_id=OF_NOBODY,
        query=query,
        files=live.files,
        start=start,
        end=end,
        waiting=live.waiting,
        currency=currency,
        deadline=deadline,
    )


def _compare(comparison: Comparison, query: Query, of_duckdb: pa.Table, ask: Any) -> None:
    try:
        of_spark = ask()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a difference
        cause = error.__cause__ or error
        comparison.differences.append(f"{type(cause).__name__}: {str(cause)[:400]}\n{query.body[:1500]}")
        return
    if of_spark.schema != of_duckdb.schema:
        comparison.differences.append(f"types {of_spark.schema}\n{of_duckdb.schema}\n{query.body[:300]}")
    elif rows_of(of_spark) != rows_of(of_duckdb):
        duckdb_rows, spark_rows = rows_of(of_duckdb), rows_of(of_spark)
        first = next(((a, b) for a, b in zip(duckdb_rows, spark_rows, strict=False) if a != b), None)
        comparison.differences.append(
            f"{len(duckdb_rows)} and {len(spark_rows)} rows, first that differ: {first}\n{query.body[:1500]}"
        )


def rows_of(table: pa.Table) -> list[str]:
    """In an order of their own: no answer's order is that of an engine."""
    return sorted(repr(row) for row in table.to_pylist())
