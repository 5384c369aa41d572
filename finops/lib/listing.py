"""One piece for every list of the console: it sorts and searches by the URL, and exports what it shows as CSV."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from typing import Any, Generic, TypeVar

from django.http import HttpRequest, QueryDict, StreamingHttpResponse
from django.utils.text import slugify

from finops.lib import clock

Row = TypeVar("Row")


@dataclasses.dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a list. `value` gives what is sorted, searched and exported; a template draws the cell.

    One that is not `shown` stands in another's cell, or in the export only.
    """

    name: str
    label: str
    value: Callable[[Row], Any]
    numeric: bool = False
    shown: bool = True


@dataclasses.dataclass(frozen=True)
class Header:
    label: str
    href: str
    order: str
    numeric: bool


@dataclasses.dataclass(frozen=True)
class Listing(Generic[Row]):
    """The rows a page shows, in the order and with the words that its URL asks for."""

    rows: list[Row]
    total: int
    headers: list[Header]
    search: str
    csv_href: str


def wants_csv(request: HttpRequest) -> bool:
    return request.GET.get("format") == "csv"


def listing(
    request: HttpRequest, rows: Iterable[Row], columns: Sequence[Column[Row]], *, order: str
) -> Listing[Row]:
    """Rows by `?q=` (every word occurs in some column) and `?sort=name` or `?sort=-name`.

    `order` is the sort when the URL has none. Unknown columns are ignored. Cost: all rows in memory, so it is for
    lists of settings and connections, not for cost lines.
    """
    everything = list(rows)
    search = request.GET.get("q", "").strip()
    matches = [row for row in everything if _matches(row, columns, search)]
    sort = request.GET.get("sort", "") or order
    by_name = {column.name: column for column in columns}
    column = by_name.get(sort.removeprefix("-"))
    if column is not None:
        matches.sort(key=lambda row: _sort_key(column.value(row)), reverse=sort.startswith("-"))
    return Listing(
        rows=matches,
        total=len(everything),
        headers=[_header(request.GET, each, sort) for each in columns if each.shown],
        search=search,
        csv_href=_href(request.GET, format="csv"),
    )


def _matches(row: Row, columns: Sequence[Column[Row]], search: str) -> bool:
    text = " ".join(_text(column.value(row)) for column in columns).casefold()
    return all(word in text for word in search.casefold().split())


def _sort_key(value: Any) -> tuple[bool, Any]:
    return (
        value is not None,
        value.casefold() if isinstance(value, str) else value if value is not None else 0,
    )


def _header(params: QueryDict, column: Column[Row], sort: str) -> Header:
    ascending, descending = sort == column.name, sort == f"-{column.name}"
    first = f"-{column.name}" if column.numeric else column.name
    other = column.name if column.numeric else f"-{column.name}"
    follow = other if (ascending or descending) and sort == first else first
    order = "ascending" if ascending else "descending" if descending else "none"
    return Header(column.label, _href(params, sort=follow), order, column.numeric)


def _href(params: QueryDict, **changes: str) -> str:
    changed = params.copy()
    changed.pop("format", None)
    for name, value in changes.items():
        changed[name] = value
    return f"?{changed.urlencode()}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def csv_cell(value: Any) -> str:
    """A value as a CSV cell. Text that a spreadsheet would run as a formula gets a leading apostrophe."""
    text = _text(value)
    if isinstance(value, str | list | tuple) and text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return f"'{text}"
    return f"{value:f}" if isinstance(value, Decimal) else text


def csv_of(name: str, columns: Sequence[Column[Row]], rows: Iterable[Row]) -> StreamingHttpResponse:
    values = ([column.value(row) for column in columns] for row in rows)
    return csv_response(name, [column.label for column in columns], values)


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """The rows of values as a CSV download, UTF-8, written while it is sent."""
    response = StreamingHttpResponse(_lines(header, rows), content_type="text/csv; charset=utf-8")
    day: date = clock.today()
    response["Content-Disposition"] = f'attachment; filename="{slugify(name)}-{day}.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


class _Echo:
    def write(self, line: str) -> str:
        return line


def _lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    for row in chain([header], rows):
        yield writer.writerow([csv_cell(value) for value in row])
