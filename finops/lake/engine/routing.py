"""The choice of the engine for a query: DuckDB on this machine, or the Spark cluster if one is configured."""

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
"""How often an expression may count a line: unions and joins in questions repeat lines a few times."""


@dataclass(frozen=True)
class Route:
    """`bytes` is the size of the files to read; `reason` says why a configured cluster is not used."""

    engine: Literal["duckdb", "spark"]
    bytes: int
    reason: str = ""


@dataclass(frozen=True)
class QueryRoute:
    """A query that was run and not answered from the cache: what it read, on which engine, and its statement or
    error."""

    kind: str
    files: int
    route: Route
    sql: str


_log: ContextVar[list[QueryRoute] | None] = ContextVar("query routes", default=None)


@contextmanager
def record_routes() -> Iterator[list[QueryRoute]]:
    """Record the queries run inside the block, in order. Costs a microsecond if nothing is run."""
    outer, routes = _log.get(), list[QueryRoute]()
    token = _log.set(routes)
    try:
        yield routes
    finally:
        _log.reset(token)
        if outer is not None:
            outer.extend(routes)


def note_route(query: Query, live: Snapshot, selected_route: Route) -> None:
    """Record a query for the surrounding `record_routes` block, if there is one."""
    routes = _log.get()
    if routes is not None:
        routes.append(QueryRoute(query.kind.value, len(live.files), selected_route, query.body))


def cluster_sentence(routes: Sequence[QueryRoute]) -> str:
    """A sentence about what a cluster answered of these routes; empty if it answered none."""
    sizes = [each.route.bytes for each in routes if each.route.engine == "spark"]
    return f"The Spark cluster read {filesize(sum(sizes))} for this." if sizes else ""


def route(account: Account, query: Query, live: Snapshot, currency: Currency | None) -> Route:
    """Choose an engine by the bytes to read, counting rollups in place of their segments. Only a large question takes
    one more PostgreSQL statement."""
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
    """Whether every sum of an amount that the query reads must fit its type, with each line counted up to REPEATS
    times and converted at the largest rate. False if a segment has no largest amount recorded."""
    limits = {
        field.name: 10 ** (field.type.precision - field.type.scale)
        for field in schema.base_schema(query.kind)
        if pa.types.is_decimal(field.type)
    }
    totals = {name: 0 for name in query.columns if name in limits}
    rate_digits = _rate_digits(currency)
    segments = queries.magnitudes(account, query.kind, paths)
    if len(segments) != len(paths):
        return False  # the row of a segment was removed meanwhile: not proven
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
    """Digits before the point of the largest rate that amounts are converted by, at least 1; 0 if none is converted."""
    if currency is None or currency.rates is None:
        return 0
    largest: Decimal | None = pc.max(currency.rates.table["rate"]).as_py()
    return max(1, largest.adjusted() + 1) if largest else 1
