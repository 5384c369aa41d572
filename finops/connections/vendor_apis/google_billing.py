"""Google's standard and detailed usage cost export in BigQuery, a month at a time, for the native mapping of
`finops.costs.native.google`: only the columns of the mapping are queried, lists stay lists.

A line belongs to the month of its invoice (`invoice.month`). Lines of a month still arrive after its end, mostly
credits and corrections; each changes the month's fingerprint: lines, cost, credits and the newest `export_time`.

A table that is partitioned by ingestion day is read from two days before the month on, since no line is exported
before its invoice's month begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from finops.connections.connector import MAX_MONTHS, BillMonth, Fetch, SourceError
from finops.connections.transports.pages import digest_of
from finops.connections.transports.sql import SqlBill, write_month
from finops.connections.vendor_apis.bigquery import BigQueryWarehouse, TableField
from finops.costs.focus.normalise import FocusFile
from finops.costs.native.formats.google import GoogleFormat
from finops.costs.native.google.mapping import PATHS, places_of
from finops.lib.sentences import join_with_and

_NEEDED: Final = ("cost", "currency", "month", "start")
_EARLIEST_EXPORT: Final = timedelta(days=2)


class GoogleBillingExport(SqlBill):
    """The export in one table or view. Raises SourceError that names missing columns."""

    def __init__(self, warehouse: BigQueryWarehouse, table: str, fields: Sequence[TableField]) -> None:
        self._warehouse = warehouse
        self._table = table
        self._columns = columns_of(fields)
        missing = [PATHS[name] for name in _NEEDED if PATHS[name] not in self._columns]
        if missing:
            raise SourceError(
                f"{table} looks like Google's usage cost export, but lacks {join_with_and(missing)}. Name the table that Google "
                "writes, or a view with all of its columns.",
                field="table",
            )
        kind = GoogleFormat().mapping([_alias(path) for path in self._columns], table).title
        self.title = f"Read the columns of the {kind}"

    def months(self) -> list[BillMonth]:
        rows = self._warehouse.query(
            f"SELECT {self._columns['invoice.month']} AS month, COUNT(*) AS n, "  # noqa: S608 columns of the schema
            f"SUM({self._warehouse.exact(self._columns['cost'])}) AS cost, {self._credits()} AS credits, "
            f"{self._newest()} AS newest FROM `{self._table}` GROUP BY 1"
        ).rows()
        months = [
            BillMonth(_month_of(name, lines), digest_of(["|".join(each or "" for each in (lines, *facts))]))
            for name, lines, *facts in rows
        ]
        return sorted(months, key=lambda each: each.month, reverse=True)[:MAX_MONTHS]

    def fetch(self, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        columns = ", ".join(f"{column} AS {_alias(path)}" for path, column in self._columns.items())
        statement = (
            f"SELECT {columns} FROM `{self._table}` "  # noqa: S608 columns of the schema
            f"WHERE {self._columns['invoice.month']} = '{month.month:%Y%m}'{self._since(month.month)}"
        )
        return write_month(self._warehouse.query(statement), month, fetch)

    def _credits(self) -> str:
        if "credits" not in self._columns:
            return "NULL"
        amount = self._warehouse.exact("credit.amount")
        return f"SUM((SELECT SUM({amount}) FROM UNNEST({self._columns['credits']}) AS credit))"  # noqa: S608

    def _newest(self) -> str:
        return f"MAX({self._columns['export_time']})" if "export_time" in self._columns else "NULL"

    def _since(self, month: date) -> str:
        """Return the condition on partitions. Lines that just arrived have no partition yet."""
        if not self._warehouse.is_partitioned_by_arrival(self._table):
            return ""
        since = f"TIMESTAMP '{month - _EARLIEST_EXPORT} 00:00:00+00'"
        return f" AND (_PARTITIONTIME >= {since} OR _PARTITIONTIME IS NULL)"


def is_usage_cost_export(fields: Sequence[TableField]) -> bool:
    """Return whether a table with these columns is the standard or the detailed export."""
    return GoogleFormat().recognises([_alias(path) for path in columns_of(fields)])


def columns_of(fields: Sequence[TableField]) -> dict[str, str]:
    """Return the expression of each column of the mapping, by its path at Google."""
    top = {each.name: each for each in fields}
    columns = {}
    for path, (name, field) in places_of(list(top)).items():
        if not field or any(each.name == field for each in top[name].fields):
            columns[PATHS[path]] = ".".join(f"`{part}`" for part in (name, field) if part)
    return columns


def _alias(path: str) -> str:
    return path.replace(".", "_")


def _month_of(text: str | None, lines: str | None) -> date:
    if text is None:
        raise SourceError(
            f"invoice.month is empty in {lines} lines, which belong to no invoice. Name a view that leaves them out with "
            "WHERE invoice.month IS NOT NULL.",
            field="table",
        )
    match = re.fullmatch(r"(20\d\d)(0[1-9]|1[0-2])", text)
    if match is None:
        raise SourceError(f"An invoice.month is no month such as 202605: {text[:100]!r}.", field="table")
    return date(int(match[1]), int(match[2]), 1)
