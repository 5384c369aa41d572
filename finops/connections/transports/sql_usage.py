"""Usage that a database has, by a query of the person's own: one row a customer, metric and time.

A look is one aggregation at the other side: rows, sum and newest time of each month are its fingerprint, as of cost
(`transports.sql`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Annotated, Final

import msgspec

from finops.connections.connector import MAX_MONTHS, BillMonth, Fetch, SourceError
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
"""An example; `region` becomes a dimension."""

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


class UsageRelation:
    """What a query gives. Raises SourceError that names the columns which are missing, and what the database raises.

    `month` is a column's month in the database's dialect, as a text YYYY-MM in UTC.
    """

    def __init__(self, source: SqlSource, query: str, month: str) -> None:
        self._source, self._month = source, month
        self._relation = f"(\n{query.strip().rstrip(';')}\n) AS usage_rows"
        names = {column.name.casefold(): column.name for column in source.columns(self._relation)}
        missing = [name for name in REQUIRED if name not in names]
        if missing:
            raise SourceError(f"The query has no column {join_with_and(missing)}.", field=source.field)
        self._columns = {name: source.name(column) for name, column in names.items()}

    def months(self) -> list[BillMonth]:
        """The months of its rows, the newest first."""
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
                field=self._source.field,
            )
        return BillMonth(date.fromisoformat(f"{month}-01"), digest_of(["|".join(each or "" for each in row)]))

    def first_rows(self) -> str:
        """Some of its rows, as a person sees them in *Test connection*."""
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
        """The month's rows as files of events."""
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
    others = {name: value for name, value in row.items() if value and name not in (*REQUIRED, *OPTIONAL)}
    files.add(
        customer=row[CUSTOMER],
        metric=row[METRIC],
        quantity=quantity,
        moment=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        unit=row.get("unit"),
        name=row.get("customer_name"),
        dimensions=others or None,
    )
