"""Bills in a database of any kind: their billing months and lines.

A listing is one aggregation over few columns in the database: the number of lines, sums of cost and the newest charge
of each billing period are its fingerprint. A month that changes without any of these is not detected; reading all
months again each hour would cost as much as the database charges for it.

The month of a line is the one 14 hours after BillingPeriodStart, as in imports (docs/focus-import.md): periods in
local time begin up to 14 hours before their month does in UTC.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import zip_longest
from typing import Any, Final, Generic, TypeVar

from finops.connections.checks import check_list
from finops.connections.connector import (
    MAX_MONTHS,
    BillMonth,
    C,
    CheckFinding,
    Connector,
    Fetch,
    SourceError,
    SourceUnavailable,
)
from finops.connections.transports.pages import digest_of
from finops.connections.transports.sql_columns import SqlColumn, focus_columns, other_columns_text
from finops.connections.transports.text_parquet import text_parquet
from finops.costs.focus.columns import fold
from finops.costs.focus.convert import FURTHEST_ZONE
from finops.costs.focus.normalise import FocusFile
from finops.costs.focus.values import parse_moment
from finops.lib import time_limit
from finops.lib.periods import add_months, month_start

PERIOD, CHARGE = "BillingPeriodStart", "ChargePeriodStart"
BILLED, EFFECTIVE = "BilledCost", "EffectiveCost"
BATCH_ROWS: Final = 10_000
MAX_ROWS: Final = 200_000_000
"""Maximum number of lines of a month."""
MAX_PERIODS: Final = 10_000
"""Maximum number of different values of BillingPeriodStart."""

TextRow = Sequence[str | None]
"""Values of a row as exact text: a number with all digits, a time in ISO 8601, nested values as JSON."""


@dataclass(frozen=True)
class QueryResult:
    """Column names, and the rows in batches. `total` is the number of rows, if the database reports it."""

    columns: list[str]
    batches: Iterator[list[TextRow]]
    total: int | None = None
    types: list[str] = field(default_factory=list)
    """Types of the columns, as the database names them; empty if it does not report them."""

    def checked_batches(self) -> Iterator[list[TextRow]]:
        """Yield the batches. Raises SourceUnavailable at the end if rows are missing, or are too many."""
        count = 0
        for batch in self.batches:
            count += len(batch)
            time_limit.check()
            yield batch
        if self.total is not None and count != self.total:
            raise SourceUnavailable(
                f"The database returned {count:,} of {self.total:,} rows. The next sync tries again."
            )

    def rows(self) -> Iterator[TextRow]:
        """Return all rows. Raises the errors of `checked_batches`."""
        for batch in self.checked_batches():
            yield from batch


class SqlSource(ABC):
    """A database with one credential, and its dialect. `vendor` is its name in sentences, `field` the config's field
    with the relation."""

    vendor: str
    field: str = "view"
    quote: str = '"'

    @abstractmethod
    def query(self, statement: str) -> QueryResult:
        """Run a SELECT, with times in UTC. Raises SourceError, AccessError, SourceUnavailable."""

    @abstractmethod
    def moment(self, expression: str) -> str:
        """Return the expression as a comparable timestamp, in UTC if it has no zone."""

    @abstractmethod
    def exact(self, expression: str) -> str:
        """Return the expression as an exact decimal: sums of floating point depend on the order of the lines."""

    def columns(self, relation: str) -> list[SqlColumn]:
        """Return the columns of a relation without reading lines. Raises the errors of `query`."""
        result = self.query(f"SELECT * FROM {relation} WHERE 1 = 0")  # noqa: S608 the connector's own relation
        return [SqlColumn(*each) for each in zip_longest(result.columns, result.types, fillvalue="")]

    def name(self, column: str) -> str:
        """Return a column's quoted name."""
        return f"{self.quote}{column.replace(self.quote, self.quote * 2)}{self.quote}"


class SqlBill(ABC):
    """The bill that a connection reads. `title` is the detected format in a check."""

    title: str

    @abstractmethod
    def months(self) -> list[BillMonth]:
        """Return its billing months with their fingerprints; one aggregation. Raises SourceError for lines without a
        month, and errors of the database."""

    @abstractmethod
    def fetch(self, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """Return the month's lines as one file; none without lines. Raises SourceError, and errors of the database."""


class FocusRelation(SqlBill):
    """A table, view or query (in parentheses, with a name) with FOCUS columns. Raises SourceError that names missing
    columns and those with a wrong type, and errors of the database."""

    def __init__(self, source: SqlSource, relation: str) -> None:
        self._source = source
        self._relation = relation
        columns = source.columns(relation)
        focus = focus_columns(columns, source.field)
        self._columns = {name: source.name(column.name) for name, column in focus.items()}
        other_text = other_columns_text(columns)
        self.title = "Read the FOCUS columns" + (
            f". Not read, since FOCUS has none of these: {other_text}" if other_text else ""
        )

    def months(self) -> list[BillMonth]:
        columns, source = self._columns, self._source
        billed, effective = (f"SUM({source.exact(columns[fold(name)])})" for name in (BILLED, EFFECTIVE))
        period, newest = columns[fold(PERIOD)], columns.get(fold(CHARGE))
        rows = source.query(
            f"SELECT {period} AS period, COUNT(*) AS n, {billed} AS b, {effective} AS e, "  # noqa: S608
            f"{f'MAX({newest})' if newest else 'NULL'} AS newest FROM {self._relation} GROUP BY {period}"
        ).rows()
        return _months_of(rows, source.field)

    def fetch(self, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        source = self._source
        period = source.moment(self._columns[fold(PERIOD)])
        start, end = (
            source.moment(f"'{_first_moment(day)}'") for day in (month.month, add_months(month.month, 1))
        )
        statement = f"SELECT * FROM {self._relation} WHERE {period} >= {start} AND {period} < {end}"  # noqa: S608
        return write_month(source.query(statement), month, fetch)


S = TypeVar("S", bound=SqlSource)


class SqlConnector(Connector[C], Generic[C, S]):
    """A connector to a database. A statement sees one state of it, so a month is consistent whatever arrives
    meanwhile, and another listing after each fetch would only cost another aggregation."""

    changes_while_read = True

    @abstractmethod
    def source(self, config: C, fetch: Fetch | None = None) -> S:
        """Return the database for a listing or the fetch. Raises SourceError, AccessError, SourceUnavailable."""

    @abstractmethod
    def bill(self, config: C, source: S) -> SqlBill:
        """Return the bill to read. Raises SourceError for another kind of table, and errors of the database."""

    @abstractmethod
    def check_title(self, config: C) -> str:
        """Return the title of a check's first step, with the permission that it needs."""

    def check(self, config: C) -> list[CheckFinding]:
        with check_list() as checks:
            source = checks.attempt(self.check_title(config), lambda: self._try_source(config))
            bill = checks.attempt("Read the columns", lambda: self.bill(config, source))
            checks.findings[-1] = CheckFinding(bill.title, True)
            checks.attempt("Find billing months", lambda: _some_month(bill))
        return checks.findings

    def months(self, config: C) -> list[BillMonth]:
        return self.bill(config, self.source(config)).months()

    def fetch(self, config: C, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        return self.bill(config, self.source(config, fetch)).fetch(month, fetch)

    def _try_source(self, config: C) -> S:
        source = self.source(config)
        source.query("SELECT 1")
        return source


def write_month(result: QueryResult, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
    """Write the rows as one Parquet file of text columns, so that amounts keep every digit; none without rows.
    Memory: one batch. Raises SourceError beyond MAX_ROWS."""
    path = fetch.folder / f"{month.month:%Y-%m}.parquet"
    with text_parquet(path, result.columns, MAX_ROWS) as file:
        for batch in result.checked_batches():
            columns = list(zip(*batch, strict=True)) if batch else [()] * len(result.columns)
            fetch.progress(file.write(columns))
    return [FocusFile(path, path.name)] if file.rows else []


def text_of(value: Any) -> str | None:
    """Return a value of a row as exact text: a number with all digits, a time in ISO 8601, nested values as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    return str(value)


def is_focus(names: Iterable[str]) -> bool:
    """Return whether a table has columns that only FOCUS has."""
    return not {fold(BILLED), fold(EFFECTIVE), fold(PERIOD)}.isdisjoint(map(fold, names))


def _months_of(rows: Iterator[TextRow], field: str) -> list[BillMonth]:
    """Return the months of rows with start, lines, sums and newest charge of each billing period."""
    facts: dict[date, list[str]] = defaultdict(list)
    for number, (period, lines, *sums) in enumerate(rows, 1):
        if number > MAX_PERIODS:
            raise SourceError(
                f"{PERIOD} has more than {MAX_PERIODS:,} different values. It must be the start of a billing month.",
                field=field,
            )
        facts[_month_of(period, lines, field)].append(
            "|".join(value or "" for value in (period, lines, *sums))
        )
    months = [BillMonth(month, digest_of(facts[month])) for month in sorted(facts, reverse=True)]
    return months[:MAX_MONTHS]


def _month_of(text: str | None, lines: str | None, field: str) -> date:
    if text is None:
        raise SourceError(
            f"{PERIOD} is empty in {lines} rows. Fill it, or exclude them with WHERE {PERIOD} IS NOT NULL in the query or view.",
            field=field,
        )
    try:
        moment = parse_moment(text)
        return month_start(((moment.astimezone(UTC) if moment.tzinfo else moment) + FURTHEST_ZONE).date())
    except (ValueError, OverflowError):
        raise SourceError(f"A {PERIOD} of the query is not a time: {text[:100]!r}.", field=field) from None


def _first_moment(month: date) -> str:
    """Return the start of the month in the easternmost time zone, in UTC."""
    first = datetime(month.year, month.month, 1, tzinfo=UTC) - FURTHEST_ZONE
    return f"{first:%Y-%m-%d %H:%M:%S}+00:00"


def _some_month(bill: SqlBill) -> None:
    if not bill.months():
        raise SourceError("No rows yet. The first sync imports the rows that exist then.")
