"""A bill that a database has, whatever the database: its billing months and their lines.

A look is one aggregation over few columns at the other side: lines, sums of cost and the newest charge of each billing
period are its fingerprint. A month that changes without any of these is not seen; reading all months again each hour
would cost what the database charges for it.

The month of a line is that in which the moment 14 hours after BillingPeriodStart lies, as an import has it
(docs/focus-import.md): periods in local time begin up to 14 hours before their month does in UTC.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, Generic, TypeVar

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
from finops.connections.transports.text_parquet import text_parquet
from finops.costs.focus.columns import MANDATORY, fold
from finops.costs.focus.convert import FURTHEST_ZONE
from finops.costs.focus.normalise import FocusFile
from finops.costs.focus.values import parse_moment
from finops.lib.periods import add_months, month_start
from finops.lib.sentences import join_with_and

PERIOD, CHARGE = "BillingPeriodStart", "ChargePeriodStart"
BILLED, EFFECTIVE = "BilledCost", "EffectiveCost"
BATCH_ROWS: Final = 10_000
MAX_ROWS: Final = 200_000_000
"""Lines of a month."""
MAX_COLUMNS: Final = 500
MAX_PERIODS: Final = 10_000
"""Different values of BillingPeriodStart."""

TextRow = Sequence[str | None]
"""The values of a row as text, exact: a number in full, a time in ISO 8601, nested values as JSON."""


@dataclass(frozen=True)
class QueryResult:
    """Column names, and the rows in batches. `total` is how many rows the database says there are, where it does."""

    columns: list[str]
    batches: Iterator[list[TextRow]]
    total: int | None = None

    def checked_batches(self) -> Iterator[list[TextRow]]:
        """Raises SourceUnavailable at the end where rows are missing, or are too many."""
        count = 0
        for batch in self.batches:
            count += len(batch)
            yield batch
        if self.total is not None and count != self.total:
            raise SourceUnavailable(
                f"The database gave {count:,} of the {self.total:,} rows of a query. It is tried again later."
            )

    def rows(self) -> Iterator[TextRow]:
        """Raises as `checked_batches` does."""
        for batch in self.checked_batches():
            yield from batch


class SqlSource(ABC):
    """One database with one credential, and its dialect. `vendor` is its name in sentences."""

    vendor: str
    quote: str = '"'

    @abstractmethod
    def query(self, statement: str) -> QueryResult:
        """What a SELECT answers, times in UTC. Raises SourceError, AccessError, SourceUnavailable."""

    @abstractmethod
    def moment(self, expression: str) -> str:
        """The expression as a moment that can be compared with others, in UTC where it says no zone."""

    @abstractmethod
    def exact(self, expression: str) -> str:
        """The expression as an exact decimal: sums of floating point depend on the order of the lines."""

    def columns(self, relation: str) -> list[str]:
        """Its columns, as it names them. Reads no line. Raises as `query` does."""
        return self.query(f"SELECT * FROM {relation} WHERE 1 = 0").columns  # noqa: S608 the connector's own relation

    def name(self, column: str) -> str:
        """A column's name in a statement."""
        return f"{self.quote}{column.replace(self.quote, self.quote * 2)}{self.quote}"


class SqlBill(ABC):
    """What one connection reads of its database. `title` says in a check what it turned out to be."""

    title: str

    @abstractmethod
    def months(self) -> list[BillMonth]:
        """Its billing months, with what changes when their lines do; one aggregation. Raises SourceError for lines that are of
        no month, and what the database raises."""

    @abstractmethod
    def fetch(self, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """The month's lines as one file; none for no line. Raises SourceError, and what the database raises."""


class FocusRelation(SqlBill):
    """A table, view or query (in parentheses, with a name) of FOCUS columns. Raises SourceError that names the columns which it
    lacks, and what the database raises."""

    title = "Read the FOCUS columns"

    def __init__(self, source: SqlSource, relation: str) -> None:
        self._source = source
        self._relation = relation
        self._columns = _focus_columns(source, relation)

    def months(self) -> list[BillMonth]:
        columns, source = self._columns, self._source
        billed, effective = (f"SUM({source.exact(columns[fold(name)])})" for name in (BILLED, EFFECTIVE))
        period, newest = columns[fold(PERIOD)], columns.get(fold(CHARGE))
        rows = source.query(
            f"SELECT {period} AS period, COUNT(*) AS n, {billed} AS b, {effective} AS e, "  # noqa: S608
            f"{f'MAX({newest})' if newest else 'NULL'} AS newest FROM {self._relation} GROUP BY {period}"
        ).rows()
        return _months_of(rows)

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
    """A connector that reads a database."""

    @abstractmethod
    def source(self, config: C, fetch: Fetch | None = None) -> S:
        """The database, for a look or for the fetch. Raises SourceError, AccessError, SourceUnavailable."""

    @abstractmethod
    def bill(self, config: C, source: S) -> SqlBill:
        """What of the database is read. Raises SourceError for another kind of table, and what the database raises."""

    @abstractmethod
    def check_title(self, config: C) -> str:
        """What the first attempt of a check does, with the permission that it takes."""

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
    """The rows as one Parquet file of text columns, so that amounts stay to the last digit; none for no row. Memory: one batch.
    Raises SourceError beyond MAX_ROWS."""
    path = fetch.folder / f"{month.month:%Y-%m}.parquet"
    with text_parquet(path, result.columns, MAX_ROWS) as file:
        for batch in result.checked_batches():
            columns = list(zip(*batch, strict=True)) if batch else [()] * len(result.columns)
            fetch.progress(file.write(columns))
    return [FocusFile(path, path.name)] if file.rows else []


def is_focus(names: Iterable[str]) -> bool:
    """Whether a table with these columns means to be of FOCUS's: no other format has any of these."""
    return not {fold(BILLED), fold(EFFECTIVE), fold(PERIOD)}.isdisjoint(map(fold, names))


def _focus_columns(source: SqlSource, relation: str) -> dict[str, str]:
    """The relation's columns as they stand in a statement, by FOCUS name, folded."""
    names = source.columns(relation)
    columns = {fold(name): source.name(name) for name in names}
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


def _months_of(rows: Iterator[TextRow]) -> list[BillMonth]:
    """Of a row for each billing period: its begin, lines, sums and newest charge."""
    facts: dict[date, list[str]] = defaultdict(list)
    for number, (period, lines, *sums) in enumerate(rows, 1):
        if number > MAX_PERIODS:
            raise SourceError(
                f"{PERIOD} has more than {MAX_PERIODS:,} different values. It is the begin of the month of a bill.",
                field="query",
            )
        facts[_month_of(period, lines)].append("|".join(value or "" for value in (period, lines, *sums)))
    months = [BillMonth(month, digest_of(facts[month])) for month in sorted(facts, reverse=True)]
    return months[:MAX_MONTHS]


def _month_of(text: str | None, lines: str | None) -> date:
    if text is None:
        raise SourceError(
            f"{PERIOD} is empty in {lines} lines, which belong to no month. Fill it, or leave them out with "
            f"WHERE {PERIOD} IS NOT NULL in the query or view.",
            field="query",
        )
    try:
        moment = parse_moment(text)
        return month_start(((moment.astimezone(UTC) if moment.tzinfo else moment) + FURTHEST_ZONE).date())
    except (ValueError, OverflowError):
        raise SourceError(f"A {PERIOD} of the query is no time: {text[:100]!r}.", field="query") from None


def _first_moment(month: date) -> str:
    """When the month begins in the furthest zone, in UTC."""
    first = datetime(month.year, month.month, 1, tzinfo=UTC) - FURTHEST_ZONE
    return f"{first:%Y-%m-%d %H:%M:%S}+00:00"


def _some_month(bill: SqlBill) -> None:
    if not bill.months():
        raise SourceError("There is no line yet. The first sync brings what comes until then.")
