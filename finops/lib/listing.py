"""A list of the console, declared once in Python: its columns give the table, sorting, search, filters, paging and CSV.

A page shows it with `{% list_table %}` (finops/templatetags/components.py).
"""

from __future__ import annotations

import csv
import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from itertools import chain, repeat
from typing import Any, Generic, Literal, TypeVar

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils.text import slugify

from finops.lib import clock
from finops.lib.cost_access import limit_line
from finops.lib.registry import Registry

Row = TypeVar("Row")


@dataclasses.dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a list.

    `value` is sorted, searched, exported and shown; a page may draw the cell itself (`{% cell name %}`). `sort` returns the
    sort key of values that have an order of their own. `currency` is that of an amount: only amounts of one currency have
    an order, so rows are sorted within each, the currency of most rows first. A column that is not `shown` is part of
    another's cell or of the export only. `phone` is the label where rows are stacked, if the column's is too long there.
    `help` is a term of finops/help/terms.py, which a “?” beside the label opens.
    """

    name: str
    label: str
    value: Callable[[Row], Any]
    numeric: bool = False
    shown: bool = True
    sort: Callable[[Row], Any] | None = None
    currency: Callable[[Row], str] | None = None
    sortable: bool = True
    exported: bool = True
    format: Literal["", "ago", "percent", "quantity"] = ""
    css: str = ""
    phone: str = ""
    help: str = ""
    row_header: bool = False


@dataclasses.dataclass(frozen=True)
class ListFilter(Generic[Row]):
    """A select above a list: a row is shown when its `value` is the selected option or contains it.

    `every` is the text of the empty option; `counted` adds to each option how many rows have it. Without `value` the view
    has filtered the rows already.
    """

    name: str
    label: str
    every: str
    choices: Sequence[tuple[str, str]]
    value: Callable[[Row], str | Sequence[str]] | None = None
    counted: bool = False

    def matches(self, row: Row, choice: str) -> bool:
        if not choice or self.value is None:
            return True
        value = self.value(row)
        return choice == value if isinstance(value, str) else choice in value

    def select(self, rows: Sequence[Row], params: QueryDict) -> FilterSelect:
        every, choices = self.every, self.choices
        if self.counted:
            every = f"{every} ({len(rows)})"
            choices = [
                (value, f"{text} ({sum(self.matches(row, value) for row in rows)})")
                for value, text in choices
            ]
        return FilterSelect(self.name, self.label, every, choices, params.get(self.name, ""))


@dataclasses.dataclass(frozen=True)
class FilterSelect:
    """A filter as a page shows it."""

    name: str
    label: str
    every: str
    choices: Sequence[tuple[str, str]]
    choice: str


@dataclasses.dataclass(frozen=True)
class ColumnHeader:
    """A heading of the table; `href` sorts by it."""

    label: str
    href: str
    order: str
    numeric: bool
    help: str = ""


@dataclasses.dataclass(frozen=True)
class Listing(Generic[Row]):
    """The rows that a page shows, filtered and sorted as its URL says.

    `matches` has the rows of every page, `total` counts the rows before search and filters; `params` are the other
    parameters of the URL, which the form of search and filters keeps.
    """

    declaration: ListPage[Row]
    columns: list[Column[Row]]
    rows: Sequence[Row]
    matches: Sequence[Row]
    total: int
    headers: list[ColumnHeader]
    search: str
    selects: list[FilterSelect]
    params: list[tuple[str, str]]
    csv_href: str
    page: Page[Row] | None

    @property
    def is_narrowed(self) -> bool:
        return bool(self.search or any(select.choice for select in self.selects))

    @property
    def page_range(self) -> Iterable[int | str]:
        """The pages to link to, with an ellipsis for gaps."""
        return () if self.page is None else self.page.paginator.get_elided_page_range(self.page.number)


@dataclasses.dataclass(frozen=True)
class ListPage(Generic[Row]):
    """The declaration of a list.

    `name` is the name of its CSV and its id in the page, `title` labels the table, `noun` is one row ("No key matches").
    `order` is the sort when the URL has none. `actions` is the label of the column of buttons, which the page draws.
    `muted` rows are no longer active: revoked, expired. `css` is the table's class.
    """

    name: str
    title: str
    noun: str
    columns: Sequence[Column[Row]] = ()
    order: str = ""
    filters: Sequence[ListFilter[Row]] = ()
    page_rows: int | None = None
    actions: str = ""
    muted: Callable[[Row], bool] | None = None
    css: str = ""

    def response(
        self,
        request: HttpRequest,
        rows: Iterable[Row],
        template: str,
        context: Mapping[str, Any] | None = None,
    ) -> HttpResponseBase:
        """Return the CSV if the URL requests it, else the page with `listing`."""
        listing = self.listing(request, rows)
        if wants_csv(request):
            return self.csv(listing.matches)
        return render(request, template, {"listing": listing, **(context or {})})

    def table(self, rows: Sequence[Row]) -> Listing[Row]:
        """Return the rows as a part of another page: without search, filters, paging and CSV; the page sorts them in the
        browser."""
        columns = [column for column in self.columns if column.shown]
        headers = [ColumnHeader(column.label, "", "", column.numeric, column.help) for column in columns]
        return Listing(self, columns, rows, rows, len(rows), headers, "", [], [], "", None)

    def csv(self, rows: Iterable[Row], note: str = "") -> StreamingHttpResponse:
        return csv_of(self.name, [column for column in self.columns if column.exported], rows, note)

    def listing(self, request: HttpRequest, rows: Iterable[Row]) -> Listing[Row]:
        """Return the rows by `?q=` (every word occurs in some column), the filters, and `?sort=name` or `?sort=-name`.

        Unknown columns are ignored. Cost: all rows in memory, so it is for lists of settings and connections, not for cost
        lines.
        """
        every = list(rows)
        words = request.GET.get("q", "").casefold().split()
        matches = self.apply_filters(request, every)
        if words:
            matches = [row for row in matches if _has_words(row, self.columns, words)]
        sort = request.GET.get("sort", "") or self.order
        column = next((each for each in self.columns if each.name == sort.removeprefix("-")), None)
        if column is not None:
            matches = _order_rows(matches, column, reverse=sort.startswith("-"))
        pages = Paginator(matches, self.page_rows or max(1, len(matches)))
        page = pages.get_page(request.GET.get("page"))
        return self._listing(request, page, matches=matches, every=every)

    def apply_filters(self, request: HttpRequest, rows: Iterable[Row]) -> list[Row]:
        """Return the rows that match the filters of the URL."""
        choices = [(each, request.GET.get(each.name, "")) for each in self.filters]
        return [row for row in rows if all(each.matches(row, choice) for each, choice in choices)]

    def listing_of_page(self, request: HttpRequest, page: Page[Row]) -> Listing[Row]:
        """Return a listing of rows that the database has sorted, searched and paged: `matches` are those of the page."""
        return self._listing(request, page, matches=list(page.object_list), every=())

    def _listing(
        self, request: HttpRequest, page: Page[Row], *, matches: Sequence[Row], every: Sequence[Row]
    ) -> Listing[Row]:
        params = request.GET
        sort = params.get("sort", "") or self.order
        own = {"q", "page", "format", *(each.name for each in self.filters)}
        return Listing(
            declaration=self,
            columns=[column for column in self.columns if column.shown],
            rows=list(page.object_list),
            matches=matches,
            total=len(every) or page.paginator.count,
            headers=[_header(params, column, sort) for column in self.columns if column.shown],
            search=params.get("q", "").strip(),
            selects=[each.select(every, params) for each in self.filters],
            params=[(name, value) for name, values in params.lists() if name not in own for value in values],
            csv_href=_href(params, format="csv"),
            page=page,
        )


def wants_csv(request: HttpRequest) -> bool:
    return request.GET.get("format") == "csv"


def _has_words(row: Row, columns: Sequence[Column[Row]], words: list[str]) -> bool:
    text = " ".join(_text(column.value(row)) for column in columns).casefold()
    return all(word in text for word in words)


def _order_rows(rows: Sequence[Row], column: Column[Row], *, reverse: bool) -> list[Row]:
    key, currency = column.sort or column.value, column.currency
    ordered = sorted(rows, key=lambda row: _sort_key(key(row)), reverse=reverse)
    if currency is None:
        return ordered
    counts = Counter(map(currency, ordered))
    return sorted(ordered, key=lambda row: (-counts[currency(row)], currency(row)))


def _sort_key(value: Any) -> tuple[bool, Any]:
    return (
        value is not None,
        value.casefold() if isinstance(value, str) else value if value is not None else 0,
    )


def _header(params: QueryDict, column: Column[Row], sort: str) -> ColumnHeader:
    if not column.sortable:
        return ColumnHeader(column.label, "", "", column.numeric, column.help)
    ascending, descending = sort == column.name, sort == f"-{column.name}"
    first = f"-{column.name}" if column.numeric else column.name
    other = column.name if column.numeric else f"-{column.name}"
    follow = other if (ascending or descending) and sort == first else first
    order = "ascending" if ascending else "descending" if descending else "none"
    return ColumnHeader(column.label, _href(params, sort=follow), order, column.numeric, column.help)


def _href(params: QueryDict, **changes: str) -> str:
    changed = params.copy()
    for name in ("format", "page"):
        changed.pop(name, None)
    for name, value in changes.items():
        changed[name] = value
    return f"?{changed.urlencode()}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


CSV_PLACES = 18
"""Decimals of a number in a CSV: those that amounts are stored with. Quotients may have infinitely many."""

_FORMULA = re.compile(r"\s*[=@＝＠]|[+\-＋－\t\r\n]")  # noqa: RUF001 - the wide forms of East Asian keyboards
# Where the list separator is a semicolon, spreadsheets begin a cell at each, and a row at each line end.
_INNER_FORMULA = re.compile(r"[;\t\r\n](?=\s*[=@＝＠]|[+\-＋－])")  # noqa: RUF001
_CSV_QUANTUM = Decimal(1).scaleb(-CSV_PLACES)
_WIDE = Context(prec=80, rounding=ROUND_HALF_EVEN)


def csv_cell(value: Any) -> str:
    """Format a value as a CSV cell: numbers exact, with at most CSV_PLACES decimals; days and times in ISO 8601. Text that
    a spreadsheet would run as a formula gets an apostrophe before it."""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        return _csv_number(value)
    text = _text(value)
    if not isinstance(value, str | list | tuple):
        return text
    text = _INNER_FORMULA.sub(r"\g<0>'", text)
    return f"'{text}" if _FORMULA.match(text) else text


def _csv_number(value: Decimal) -> str:
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -CSV_PLACES:
        value = value.quantize(_CSV_QUANTUM, context=_WIDE)
    return f"{value:f}"


NOTE_LABEL = "data note"
"""The header of a list's note. Lists may have a column Note of their own, with people's words on a row."""


def csv_of(
    name: str, columns: Sequence[Column[Row]], rows: Iterable[Row], note: str = ""
) -> StreamingHttpResponse:
    """Return the list as CSV with the common columns, which are computed here, before the first row is sent.

    `note` says what the whole list leaves out or rests on, as in `CsvTable`; the first row has it in the last column.
    """
    common = [column for each in common_columns.values() if (column := each()) is not None]
    ends = [value for _, value in common]
    header = [*(column.label for column in columns), *(label for label, _ in common)]
    values = ([*(column.value(row) for column in columns), *ends] for row in rows)
    if not note:
        return csv_response(name, header, values)
    notes = chain([note], repeat(None))
    with_note = ([*row, each] for row, each in zip(values, notes, strict=False))
    return csv_response(name, [*header, NOTE_LABEL], with_note)


CommonColumn = Callable[[], tuple[str, Any] | None]
common_columns: Registry[CommonColumn] = Registry("common CSV column")
"""Functions that give the last columns of every list's CSV, each with one value: a header and the value, or None for no
column."""


@dataclasses.dataclass(frozen=True)
class CsvTable:
    """A CSV with any rows. `name` is without date and extension; `rows` are read once.

    `note` says what the figures leave out or rest on: the first sentence of an answer. The first row has it in the
    column `note`, which follows the column `note_after`.
    """

    name: str
    header: Sequence[str]
    rows: Iterable[Sequence[Any]]
    note: str = ""
    note_after: str = ""

    def response(self) -> StreamingHttpResponse:
        """Return it as a download."""
        return csv_response(self.name, *self._with_note())

    def lines(self) -> Iterator[str]:
        """Yield its lines. With limited cost access the first names the limit."""
        header, rows = self._with_note()
        return _lines([*_limit_lines(), header], rows)

    def _with_note(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        if not self.note:
            return self.header, self.rows
        at = list(self.header).index(self.note_after) + 1
        notes = chain([self.note], repeat(None))
        rows = ([*row[:at], note, *row[at:]] for row, note in zip(self.rows, notes, strict=False))
        return [*self.header[:at], "note", *self.header[at:]], rows


def _limit_lines() -> list[list[str]]:
    return [[line]] if (line := limit_line()) else []


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Return rows of values as a streamed CSV download in UTF-8. With limited cost access its first line names the limit."""
    lines = _lines([*_limit_lines(), header], rows)
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    day: date = clock.today()
    response["Content-Disposition"] = f'attachment; filename="{slugify(name)}-{day}.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the same CSV as text, for a file attached to an email."""
    return "".join(_lines([header], rows))


class _Echo:
    def write(self, line: str) -> str:
        return line


def _lines(headers: Sequence[Sequence[str]], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    for row in chain(headers, rows):
        yield writer.writerow([csv_cell(value) for value in row])
