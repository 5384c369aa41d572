"""Usage from a database, by a person's own query: one row for each customer, metric and time.

A listing is one aggregation in the database: rows, sum and newest time of each month are its fingerprint, as for cost
(`transports/sql.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Annotated, Final, TypeVar

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    MAX_MONTHS,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SourceError,
)
from finops.connections.transports.json_lines import MAX_ROWS, UsageFiles, usage_files
from finops.connections.transports.pages import digest_of
from finops.connections.transports.sql import SqlSource, TextRow
from finops.costs.focus.normalise import FocusFile
from finops.costs.focus.values import parse_moment
from finops.lib.periods import add_months
from finops.lib.sentences import join_with_and, truncate

CUSTOMER, METRIC, QUANTITY, TIME = "customer_id", "metric", "quantity", "time"
REQUIRED: Final = (CUSTOMER, METRIC, QUANTITY, TIME)
OPTIONAL: Final = ("customer_name", "unit")
_SHOWN_ROWS: Final = 3

USAGE_QUERY: Final = """\
SELECT customer_id, 'orders' AS metric, count(*) AS quantity,
       date_trunc('day', created_at) AS time, region
FROM shop.orders GROUP BY customer_id, date_trunc('day', created_at), region"""
"""An example, in which `region` becomes a dimension."""

UsageQuery = Annotated[
    str,
    msgspec.Meta(
        title="Query",
        description="A SELECT with the columns customer_id, metric, quantity and time. Optional: customer_name, unit. Other "
        "columns become dimensions.",
        examples=["SELECT customer_id, metric, quantity, time FROM shop.daily_usage"],
        min_length=8,
        max_length=20_000,
    ),
]

QUERY_FIELD: Final = "query"


Q = TypeVar("Q", bound=ConnectorConfig)


class UsageSqlConnector(Connector[Q]):
    """A connector to a database that returns usage by a query. It only reads: each statement is a single SELECT with
    the query as a subquery, in which databases allow no changes."""

    contents = Contents.USAGE
    changes_while_read = True
    dialect: str
    """The dialect's name in sqlglot."""
    month_sql: str
    """SQL of a time's month in the database's dialect, as a text YYYY-MM in UTC; `{}` is the time."""

    @abstractmethod
    def source(self, config: Q, fetch: Fetch | None = None) -> SqlSource:
        """Return the database for a listing or the fetch. Raises SourceError, AccessError, SourceUnavailable."""

    @abstractmethod
    def query_of(self, config: Q) -> str:
        """Return the person's query."""

    @abstractmethod
    def check_title(self, config: Q) -> str:
        """Return the title of a check's first step, with the permission that it needs."""

    def check(self, config: Q) -> list[CheckFinding]:
        with check_list() as checks:
            checks.attempt(
                self.check_title(config), lambda: list(self.source(config).query("SELECT 1").rows())
            )
            relation = checks.attempt("Read the columns", lambda: self._relation(config))
            first = checks.attempt("Read the first rows", relation.first_rows)
            checks.findings[-1] = CheckFinding(first, True)
            checks.attempt("Find months", relation.months)
        return checks.findings

    def months(self, config: Q) -> list[BillMonth]:
        return self._relation(config).months()

    def fetch(self, config: Q, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        return self._relation(config, fetch).fetch(month, fetch)

    def _relation(self, config: Q, fetch: Fetch | None = None) -> UsageRelation:
        query = self.query_of(config)
        check_subquery(query, self.dialect)
        return UsageRelation(self.source(config, fetch), query, self.month_sql)


def check_subquery(query: str, dialect: str) -> None:
    """Check the query. Raises SourceError if it is not a single SELECT that can be a subquery: BigQuery accepts
    scripts, and a surplus closing parenthesis would end the subquery early."""
    # The import takes half a second.
    from sqlglot import TokenType, tokenize
    from sqlglot.errors import SqlglotError

    try:
        kinds = [token.token_type for token in tokenize(query.strip().rstrip(";"), read=dialect)]
    except SqlglotError as error:
        raise SourceError("The query has a text or comment without an end.", field=QUERY_FIELD) from error
    if not kinds or kinds[0] not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        raise SourceError("The query must begin with SELECT or WITH.", field=QUERY_FIELD)
    if TokenType.SEMICOLON in kinds:
        raise SourceError("Enter one query, without a semicolon in it.", field=QUERY_FIELD)
    depth = 0
    for kind in kinds:
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0:
            break
    if depth:
        raise SourceError("The parentheses of the query do not match.", field=QUERY_FIELD)


class UsageRelation:
    """The result of a query. Raises SourceError that names missing columns, and the errors of the database.

    `month` is `UsageSqlConnector.month_sql`.
    """

    def __init__(self, source: SqlSource, query: str, month: str) -> None:
        self._source, self._month = source, month
        self._relation = f"(\n{query.strip().rstrip(';')}\n) AS usage_rows"
        names = {column.name.casefold(): column.name for column in source.columns(self._relation)}
        missing = [name for name in REQUIRED if name not in names]
        if missing:
            raise SourceError(f"The query has no column {join_with_and(missing)}.", field=QUERY_FIELD)
        self._columns = {name: source.name(column) for name, column in names.items()}

    def months(self) -> list[BillMonth]:
        """Return the months with rows, newest first."""
        columns, source = self._columns, self._source
        month = self._month.format(source.moment(columns[TIME]))
        total = f"SUM({source.exact(columns[QUANTITY])})"
        rows = source.query(
            f"SELECT {month} AS month, COUNT(*) AS n, COUNT(DISTINCT {columns[CUSTOMER]}) AS c, {total} AS q, "  # noqa: S608
            f"MAX({columns[TIME]}) AS newest FROM {self._relation} GROUP BY {month} ORDER BY 1 DESC"
        ).rows()
        return [self._month_of_row(row) for row in islice(rows, MAX_MONTHS + 1)]

    def _month_of_row(self, row: TextRow) -> BillMonth:
        month, count, *_others = row
        if month is None:
            raise SourceError(
                f"time is empty in {count} rows. Exclude them with WHERE in the query.",
                field=QUERY_FIELD,
            )
        return BillMonth(date.fromisoformat(f"{month}-01"), digest_of(["|".join(each or "" for each in row)]))

    def first_rows(self) -> str:
        """Return some rows as text for *Test connection*."""
        statement = f"SELECT * FROM {self._relation} LIMIT {_SHOWN_ROWS}"  # noqa: S608
        rows = [
            ", ".join(truncate(value or "(empty)", 60) for value in self._values(row))
            for row in self._rows(statement)
        ]
        return f"Read the first rows: {'; '.join(rows)}" if rows else "Run the query. It has no rows yet"

    def _values(self, row: Mapping[str, str | None]) -> list[str | None]:
        return [row[name] for name in REQUIRED]

    def _rows(self, statement: str) -> Iterator[dict[str, str | None]]:
        result = self._source.query(statement)
        names = [name.casefold() for name in result.columns]
        for row in result.rows():
            yield dict(zip(names, row, strict=True))

    def fetch(self, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """Write the month's rows as files of events."""
        source, time = self._source, self._source.moment(self._columns[TIME])
        start, end = (
            source.moment(f"'{day:%Y-%m-%d} 00:00:00+00:00'")
            for day in (month.month, add_months(month.month, 1))
        )
        statement = (
            f"SELECT * FROM {self._relation} WHERE {time} >= {start} AND {time} < {end} LIMIT {MAX_ROWS + 1}"  # noqa: S608
        )
        with usage_files(fetch, month.month) as files:
            for row in self._rows(statement):
                _add(files, row)
        return files.files()


def _add(files: UsageFiles, row: Mapping[str, str | None]) -> None:
    moment, quantity = parse_moment(row[TIME] or ""), None
    with suppress(InvalidOperation):
        quantity = Decimal(row[QUANTITY] or "")
    dimensions = {name: value for name, value in row.items() if value and name not in (*REQUIRED, *OPTIONAL)}
    files.add(
        customer=row[CUSTOMER],
        metric=row[METRIC],
        quantity=quantity,
        moment=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        unit=row.get("unit"),
        name=row.get("customer_name"),
        dimensions=dimensions or None,
    )
