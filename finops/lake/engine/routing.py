"""Which engine answers a question: this machine's DuckDB, or the Spark cluster where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from accounts.models import Account
from finops.lake import queries, schema
from finops.lake.engine import spark
from finops.lake.engine.compiler import Currency, Query
from finops.lake.engine.conversion import CONVERTED_COLUMNS
from finops.lake.engine.snapshot import Snapshot
from finops.lake.engine.spark_conversion import PRODUCT_DIGITS
from finops.lib.formats.numbers import filesize

REPEATS: Final = 16
"""How often an expression may count a line: unions and joins of questions do, a few times."""


@dataclass(frozen=True)
class Route:
    """`bytes` are those of the files that are read; `reason` says why not the cluster, where there is one."""

    engine: Literal["duckdb", "spark"]
    bytes: int
    reason: str = ""


@dataclass(frozen=True)
class QueryRoute:
    """A query of the lake that was run, not kept: what it read, where, and its statement or the reason of its end."""

    kind: str
    files: int
    route: Route
    sql: str


_log: ContextVar[list[QueryRoute] | None] = ContextVar("query routes", default=None)


@contextmanager
def record_routes() -> Iterator[list[QueryRoute]]:
    """The queries of the block, in order. A microsecond where nothing is run."""
    outer, routes = _log.get(), list[QueryRoute]()
    token = _log.set(routes)
    try:
        yield routes
    finally:
        _log.reset(token)
        if outer is not None:
            outer.extend(routes)


def note_route(query: Query, live: Snapshot, chosen: Route) -> None:
    """For `record_routes`, whose block may be around this query."""
    routes = _log.get()
    if routes is not None:
        routes.append(QueryRoute(query.kind.value, len(live.files), chosen, query.body))


def cluster_sentence(routes: Sequence[QueryRoute]) -> str:
    """What of these a cluster answered, in a sentence; empty where it answered none."""
    sizes = [each.route.bytes for each in routes if each.route.engine == "spark"]
    return f"The Spark cluster read {filesize(sum(sizes))} for this." if sizes else ""


def route(account: Account, query: Query, live: Snapshot, currency: Currency | None) -> Route:
    """By the bytes to read, rollups in place of their segments; another statement of PostgreSQL only for what is large."""
    size = sum(file.bytes for file in live.files)
    if not spark.is_configured():
        return Route("duckdb", size)
    if size < settings.SPARK_MIN_BYTES:
        return Route("duckdb", size, "fewer bytes than SPARK_MIN_BYTES")
    paths = [file.path for file in live.files]
    if not _sums_fit(account, query, paths, currency):
        return Route("duckdb", size, "a sum could pass DECIMAL(38)")
    return Route("spark", size)


def _sums_fit(account: Account, query: Query, paths: Sequence[str], currency: Currency | None) -> bool:
    """Whether no sum of an amount that the query reads can pass its type, each line counted up to REPEATS times, and converted
    at the largest rate. False where a segment does not know its largest amount."""
    limits = {
        field.name: 10 ** (field.type.precision - field.type.scale)
        for field in schema.base_schema(query.kind)
        if pa.types.is_decimal(field.type)
    }
    totals = {name: 0 for name in query.columns if name in limits}
    rate_digits = _rate_digits(currency)
    segments = queries.magnitudes(account, query.kind, paths)
    if len(segments) != len(paths):
        return False  # a segment whose row is gone by now is not proven
    for rows, magnitudes in segments:
        if magnitudes is None:
            return False
        for name in totals:
            digits = magnitudes.get(name, 0) + (rate_digits if name in CONVERTED_COLUMNS else 0)
            if rate_digits and digits > PRODUCT_DIGITS:
                return False
            totals[name] += REPEATS * rows * 10**digits
    return all(total < limits[name] for name, total in totals.items())


def _rate_digits(currency: Currency | None) -> int:
    """Before the point of the largest rate that amounts are converted by, 1 at least; 0 where none is."""
    if currency is None or currency.rates is None:
        return 0
    largest: Decimal | None = pc.max(currency.rates.table["rate"]).as_py()
    return max(1, largest.adjusted() + 1) if largest else 1
