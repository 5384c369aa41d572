"""A relation of FOCUS columns that a database has: its billing months and their lines, whatever the database.

A look is one aggregation over few columns at the other side: lines, sums of cost and the newest charge of each billing
month are its fingerprint. A month that changes without any of these is not seen; reading all months again each hour
would cost what the database charges for it.

The month of a line is that in which the moment 14 hours after BillingPeriodStart lies, as an import has it
(docs/focus-import.md): periods in local time begin up to 14 hours before their month does in UTC.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from finops.connections.connector import (
    MAX_MONTHS,
    BillMonth,
    CheckFinding,
    Fetch,
    SourceError,
)
from finops.costs.focus.columns import MANDATORY, fold
from finops.costs.focus.normalise import FocusFile
from finops.lib.errors import UserError
from finops.lib.periods import add_months
from finops.lib.sentences import join_with_and

PERIOD, CHARGE = "BillingPeriodStart", "ChargePeriodStart"
BILLED, EFFECTIVE = "BilledCost", "EffectiveCost"
BATCH_ROWS: Final = 10_000
MAX_ROWS: Final = 200_000_000
"""Lines of a month."""
MAX_COLUMNS: Final = 500

TextRow = Sequence[str | None]
"""The values of a row as text, exact: a number in full, a time in ISO 8601, nested values as JSON."""


@dataclass(frozen=True)
class QueryResult:
    """Column names, and the rows in batches."""

    columns: list[str]
    batches: Iterator[list[TextRow]]

    def rows(self) -> Iterator[TextRow]:
        for batch in self.batches:
            yield from batch


class SqlSource(ABC):
    """One database with one credential, and its dialect. `vendor` is its name in sentences."""

    vendor: str
    quote: str = '"'

    @abstractmethod
    def query(self, statement: str) -> QueryResult:
        """What a SELECT answers. Raises SourceError, AccessError, SourceUnavailable."""

    @abstractmethod
    def month_text(self, moment: str) -> str:
        """The expression of a moment's month as 2026-05, in UTC, 14 hours later."""

    @abstractmethod
    def moment(self, text: str) -> str:
        """The expression of a moment in UTC from 2026-05-01 00:00:00, less 14 hours."""

    def name(self, column: str) -> str:
        """A column's name in a statement."""
        return f"{self.quote}{column.replace(self.quote, self.quote * 2)}{self.quote}"


def relation_columns(source: SqlSource, relation: str) -> dict[str, str]:
    """The relation's columns by FOCUS name, folded. Raises SourceError that names FOCUS columns which it lacks."""
    names = source.query(f"SELECT * FROM {relation} WHERE 1 = 0").columns  # noqa: S608 the connector's own relation
    columns = {fold(name): name for name in names}
    missing = [either[0] for either in MANDATORY if not any(fold(name) in columns for name in either)]
    if missing:
        raise SourceError(
            f"The query gives no {join_with_and(missing)}. Name its columns as FOCUS does: BilledCost, EffectiveCost …",
            field="query",
        )
    if len(names) > MAX_COLUMNS:
        raise SourceError(
            f"The query gives {len(names)} columns; {MAX_COLUMNS} are read at most.", field="query"
        )
    return columns


def relation_months(source: SqlSource, relation: str) -> list[BillMonth]:
    """Its billing months, with what changes when their lines do. One aggregation."""
    columns = relation_columns(source, relation)
    period, billed, effective = (source.name(columns[fold(name)]) for name in (PERIOD, BILLED, EFFECTIVE))
    newest = f"MAX({source.name(columns[fold(CHARGE)])})" if fold(CHARGE) in columns else "NULL"
    month = source.month_text(period)
    rows = source.query(
        f"SELECT {month} AS month, COUNT(*) AS n, SUM({billed}) AS b, SUM({effective}) AS e, {newest} AS newest "  # noqa: S608
        f"FROM {relation} WHERE {period} IS NOT NULL GROUP BY {month} ORDER BY 1 DESC"
    ).rows()
    months = [BillMonth(_month_of(row[0]), "|".join(value or "" for value in row[1:])[:128]) for row in rows]
    return months[:MAX_MONTHS]


def fetch_relation(source: SqlSource, relation: str, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
    """The month's lines as one Parquet file of text columns, so that amounts stay to the last digit; none for no line.
    Memory: one batch."""
    period = source.name(relation_columns(source, relation)[fold(PERIOD)])
    start, end = (
        source.moment(f"{day:%Y-%m-%d} 00:00:00") for day in (month.month, add_months(month.month, 1))
    )
    result = source.query(f"SELECT * FROM {relation} WHERE {period} >= {start} AND {period} < {end}")  # noqa: S608
    path = fetch.folder / f"{month.month:%Y-%m}.parquet"
    rows = write_rows(path, result, fetch)
    return [FocusFile(path, path.name)] if rows else []


def write_rows(path: Path, result: QueryResult, fetch: Fetch) -> int:
    """How many rows were written. Raises SourceError beyond MAX_ROWS."""
    schema = pa.schema([(name, pa.string()) for name in result.columns])
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in result.batches:
            rows += len(batch)
            if rows > MAX_ROWS:
                raise SourceError(
                    f"The month has more than {MAX_ROWS:,} lines, which is the most that is read."
                )
            columns = list(zip(*batch, strict=True)) if batch else [()] * len(schema)
            written = pa.record_batch([pa.array(each, pa.string()) for each in columns], schema=schema)
            writer.write_batch(written)
            fetch.progress(written.nbytes)
    return rows


@contextmanager
def check_step(findings: list[CheckFinding], title: str) -> Iterator[None]:
    """A finding of this title: whether the block raised, and what to do. What follows a failed one is not
    tried: raises CheckEnd."""
    if findings and not findings[-1].is_ok:
        raise CheckEnd
    try:
        yield
    except UserError as error:
        findings.append(CheckFinding(title, False, error.message))
        raise CheckEnd from error
    findings.append(CheckFinding(title, True))


class CheckEnd(Exception):
    """A step failed, and its finding is kept."""


def check_relation(connect: Callable[[], SqlSource], relation: str, title: str) -> list[CheckFinding]:
    """Findings of connecting and asking (with this title), of the columns and of the newest month. A SourceError is
    a finding."""
    findings: list[CheckFinding] = []
    try:
        with check_step(findings, title):
            source = connect()
            source.query("SELECT 1")
        with check_step(findings, "Read the FOCUS columns"):
            relation_columns(source, relation)
        with check_step(findings, "Find billing months"):
            if not relation_months(source, relation):
                raise SourceError("There is no line yet. The first sync brings what comes until then.")
    except CheckEnd:
        pass
    return findings


def _month_of(text: str | None) -> date:
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        raise SourceError(f"A {PERIOD} of the query is no time: {text!r}.", field="query") from None
