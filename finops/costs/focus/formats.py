"""The formats of a file's numbers and dates: decided for the file, from all its values, never value by value.

FOCUS writes 1234.56 and 2026-09-05. Spreadsheets and billing systems also write `1.234,56` and `05/09/2026`, and
`12,345` has two meanings that differ by a factor of a thousand. So a whole file has one format: that of the first
value that is valid in one format only. A value that does not fit it is refused with its place. If no value decides,
the file is refused with both readings, unless the owner selects one.

A file whose numbers have no comma and whose dates have no slash is not searched at all. Otherwise a second reader
reads only the columns of numbers or dates, up to the first value that decides.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from typing import Final, NamedTuple, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import columns as spec
from finops.costs.focus.errors import FocusFileError, display_value
from finops.costs.focus.header import Header
from finops.costs.focus.values import (
    DateOrder,
    NumberFormat,
    TooLarge,
    needs_order,
    ordered_date,
    parse_amount,
    parse_day,
)

NUMBERS_SHOWN: Final = {NumberFormat.POINT: "1,234.56", NumberFormat.COMMA: "1.234,56"}
DATES_SHOWN: Final = {DateOrder.MONTH_FIRST: "month/day/year", DateOrder.DAY_FIRST: "day/month/year"}

_PERIOD, _PERIOD_END = spec.BILLING_PERIOD, "BillingPeriodEnd"
_CHARGE, _CHARGE_END = spec.CHARGE_PERIOD, "ChargePeriodEnd"
_BY_OWNER: Final = "set for this import"
_SUMS: Final = Context(prec=76)
_MOST_DAYS: Final = 100_000
"""The maximum of distinct combinations of dates that are checked; a file of hours in a month has under a thousand."""


class FormatChoice(msgspec.Struct, frozen=True):
    """The formats that the owner selected; None: decided from each file."""

    numbers: NumberFormat | None = None
    dates: DateOrder | None = None

    @classmethod
    def of(cls, numbers: str, dates: str) -> FormatChoice:
        """Return the formats of these values; empty: automatic. ValueError for an invalid value."""
        return cls(NumberFormat(numbers) if numbers else None, DateOrder(dates) if dates else None)


AUTOMATIC: Final = FormatChoice()


class LateDecimalComma(Exception):
    """The file has decimal commas, which was found after rows were read with decimal points."""


class _Reader(Protocol):
    name: str
    delimiter: str

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]: ...

    def row(self, index: int) -> str: ...


class Formats:
    """The formats of one file, decided at the first value that could have two meanings."""

    def __init__(self, reader: _Reader, header: Header, choice: FormatChoice) -> None:
        self._reader = reader
        self._header = header
        self.numbers = choice.numbers
        self.dates = choice.dates
        self.numbers_because = _BY_OWNER if choice.numbers else ""
        self.dates_because = _BY_OWNER if choice.dates else ""

    def number_format(self) -> NumberFormat:
        """Return the number format, decided on first use. FocusFileError when nothing in the file decides."""
        if self.numbers is None:
            self.numbers, self.numbers_because = _number_format_of(copy.copy(self._reader), self._header)
        return self.numbers

    def number_format_midway(self) -> NumberFormat:
        """Return the same after rows were read with a decimal point. Raises LateDecimalComma if that was wrong."""
        undecided = self.numbers is None
        decided = self.number_format()
        if undecided and decided is NumberFormat.COMMA:
            raise LateDecimalComma
        return decided

    def date_order(self) -> DateOrder:
        """Return the order of dates such as 05/09/2026. FocusFileError when nothing in the file decides."""
        if self.dates is None:
            self.dates, self.dates_because = _date_order_of(copy.copy(self._reader), self._header)
        return self.dates


class _Cell(NamedTuple):
    """A value's place in a batch that starts after `before` rows."""

    column: str
    value: str
    values: pa.Array
    before: int

    def place(self, reader: _Reader) -> str:
        row = self.before + pc.index(self.values, self.value).as_py()
        return f"{reader.row(row)}, {self.column}: {display_value(self.value)}"


def readings(value: str) -> tuple[Decimal | None, Decimal | None]:
    """Return a text's values with a decimal point and with a decimal comma; None: not a number."""
    return _parse_as(value, NumberFormat.POINT), _parse_as(value, NumberFormat.COMMA)


def _parse_as(value: str, format_: NumberFormat) -> Decimal | None:
    try:
        return parse_amount(value, format_)[0]
    except TooLarge:
        return Decimal("Infinity")
    except ValueError:
        return None


def _number_columns(header: Header) -> list[str]:
    """Return the number columns of the file, imported ones first."""
    number_columns = (*spec.AMOUNTS.values(), *spec.OTHER_AMOUNTS)
    return [name for name in dict.fromkeys(number_columns) if name in header.position]


def _number_format_of(reader: _Reader, header: Header) -> tuple[NumberFormat, str]:
    """Decide by the first number that is valid in one format only. Numbers of a column and batch are parsed once.

    1.234 alone is a decimal point, as in FOCUS, unless the file's delimiter is not FOCUS's comma: then it may come
    from a locale where 1.234 is a thousand.
    """
    mark = "," if reader.delimiter in (",", "") else ""
    ambiguous: _Cell | None = None
    for cell in _distinct(reader, header, _number_columns(header)):
        point, comma = readings(cell.value)
        if point == comma:
            continue
        if point is None or comma is None:
            return NumberFormat.COMMA if point is None else NumberFormat.POINT, cell.place(reader)
        if ambiguous is None and mark in cell.value:
            ambiguous = cell
    if ambiguous is not None:
        raise _ambiguous_number(reader, header, ambiguous)
    return NumberFormat.POINT, ""


def _distinct(reader: _Reader, header: Header, names: Sequence[str]) -> Iterator[_Cell]:
    """Return the distinct texts of these columns in each batch. Values stored as numbers decide nothing."""
    places = [header.position[name] for name in names]
    before = 0
    for batch in reader.batches([], list(dict.fromkeys(places))):
        for name, place in zip(names, places, strict=True):
            if not _is_text(batch[place].type):
                continue
            values = _plain(batch[place])
            for value in pc.unique(values.drop_null()).to_pylist():
                yield _Cell(name, value, values, before)
        before += len(next(iter(batch.values()), ()))


def _ambiguous_number(reader: _Reader, header: Header, cell: _Cell) -> FocusFileError:
    point, comma = (f"{amount.normalize():f}" for amount in readings(cell.value) if amount is not None)
    column, sums = _total_of_both(reader, header, cell.column)
    totals = "; ".join(f"{sums[0][key]:f} or {sums[1][key]:f}{key}" for key in sorted(sums[0]))
    return FocusFileError(
        f"{header.name}, {cell.place(reader)} is {point} with a decimal point and {comma} with a decimal comma, and "
        f"no number in the file decides. {column} adds up to {totals}. Set the number format: “Number format” on "
        "the upload form, --decimal point or --decimal comma with import_focus. Nothing was imported.",
        field="number_format",
        value=cell.value,
    )


def _total_of_both(
    reader: _Reader, header: Header, column: str
) -> tuple[str, tuple[dict[str, Decimal], dict[str, Decimal]]]:
    """Return the total of BilledCost, else `column`, in both formats, by currency. Reads the whole file."""
    for name in dict.fromkeys([spec.AMOUNTS["billed_cost"], column]):
        if name in header.position:
            sums = _sums_of_both(reader, header, name)
            if sums[0] != sums[1]:
                return name, sums
    return column, _sums_of_both(reader, header, column)


def _sums_of_both(
    reader: _Reader, header: Header, column: str
) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
    (currency,) = spec.TEXTS["currency"]
    place, of = header.position[column], header.position.get(currency)
    sums: tuple[dict[str, Decimal], dict[str, Decimal]] = (defaultdict(Decimal), defaultdict(Decimal))
    for batch in reader.batches([], [place] if of in (None, place) else [place, of]):
        values = _plain(batch[place])
        codes = _plain(batch[of]) if of is not None else pa.nulls(len(values), pa.string())
        counted = (
            pa.table({"value": values, "code": codes})
            .group_by(["value", "code"])
            .aggregate([([], "count_all")])
        )
        for row in counted.to_pylist():
            key = f" {row['code']}" if row["code"] else ""
            for total, amount in zip(sums, readings(row["value"] or ""), strict=True):
                if amount is not None and amount.is_finite():
                    total[key] = _SUMS.add(total[key], amount * row["count_all"]).normalize(_SUMS)
    return sums


def _date_order_of(reader: _Reader, header: Header) -> tuple[DateOrder, str]:
    """Decide by the first date that is valid in one order only, else by the rows' billing periods."""
    rows: dict[_Dates, int] = {}
    names = _date_columns(header)
    for dates, row in _dates(reader, header):
        for column, value in dates.entries(names):
            readings_ = [ordered_date(value, order) for order in DateOrder]
            if readings_.count(None) == 1:
                order = DateOrder.MONTH_FIRST if readings_[0] else DateOrder.DAY_FIRST
                return order, f"{reader.row(row)}, {column}: {display_value(value)}"
        if len(rows) < _MOST_DAYS:
            rows.setdefault(dates, row)
    telling = {
        dates: row
        for dates, row in rows.items()
        if dates.under(DateOrder.DAY_FIRST) != dates.under(DateOrder.MONTH_FIRST)
    }
    if not telling:
        return DateOrder.MONTH_FIRST, ""
    dates, row = next(iter(telling.items()))
    if header.dataset == spec.CONTRACT_COMMITMENT:
        raise _ambiguous_date(reader, header, dates, row)
    # First the billing periods, then the charges: all of them, or at least one that is not a correction.
    for fits, enough in _DECIDING[: None if header.dataset == spec.COST_AND_USAGE else 1]:
        orders = [order for order in DateOrder if enough(fits(dates, order) for dates in telling)]
        if len(orders) == 1:
            return orders[0], next(
                f"{reader.row(row)}: {dates.text()}"
                for dates, row in telling.items()
                if fits(dates, orders[0])
            )
    raise _ambiguous_date(reader, header, dates, row)


class _Dates(NamedTuple):
    """The dates of a row as written; None without one. Invoices have no charges: their own dates are used instead."""

    period: str | None
    period_end: str | None
    charge: str | None
    charge_end: str | None

    def entries(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return the columns and texts whose order matters."""
        return [
            (name, value) for name, value in zip(names, self, strict=True) if value and needs_order(value)
        ]

    def under(self, order: DateOrder) -> tuple[date | None, ...]:
        return tuple(_day(value, order) for value in self)

    def period_fits(self, order: DateOrder) -> bool:
        """Return whether the billing period, if its order matters, starts on the first of a month and ends later."""
        start, end, *_ = self.under(order)
        if start is None or (end is not None and not start < end):
            return False
        return start.day == 1 or not self.period or not needs_order(self.period)

    def fits(self, order: DateOrder) -> bool:
        """Return whether the charge is in the billing period too; without an end, in the month of its start."""
        start, end, charge, charge_end = self.under(order)
        if not start or not self.period_fits(order):
            return False
        if charge is None:
            return True
        inside = charge <= end if end else (charge.year, charge.month) == (start.year, start.month)
        return start <= charge and inside and (charge_end is None or charge <= charge_end)

    def text(self) -> str:
        named = zip((_PERIOD, _PERIOD_END, _CHARGE), self[:3], strict=True)
        return ", ".join(f"{name} {display_value(value)}" for name, value in named if value)


_DECIDING: Final = ((_Dates.period_fits, all), (_Dates.fits, all), (_Dates.fits, any))
"""Rules that may decide an order of dates: first that periods start on the first of a month and end after it; for
charges also that they are in their period."""


def _day(value: str | None, order: DateOrder) -> date | None:
    if not value:
        return None
    try:
        return parse_day(value, order).value
    except ValueError:
        return None


def _date_columns(header: Header) -> Sequence[str]:
    if header.dataset in spec.DATASETS:
        return tuple(spec.DATASETS[header.dataset].times.values())
    return _PERIOD, _PERIOD_END, _CHARGE, _CHARGE_END


def _dates(reader: _Reader, header: Header) -> Iterator[tuple[_Dates, int]]:
    """Yield the distinct combinations of dates in each batch, with a row of each."""
    names = _date_columns(header)
    places = [header.position.get(name) for name in names]
    present_places = list(dict.fromkeys(place for place in places if place is not None))
    before = 0
    for batch in reader.batches(present_places, []):
        size = len(next(iter(batch.values()), ()))
        table = pa.table(
            {
                str(index): _column(batch, place, header.supplied.get(name), size)
                for index, (name, place) in enumerate(zip(names, places, strict=True))
            }
        )
        rows = table.append_column("row", pa.array(range(before, before + size), pa.int64()))
        for group in rows.group_by(table.column_names).aggregate([("row", "min")]).to_pylist():
            yield _Dates(*(group[name] for name in table.column_names)), group["row_min"]
        before += size


def _column(batch: Mapping[int, pa.Array], place: int | None, supplied: str | None, size: int) -> pa.Array:
    if place is None:
        return pa.repeat(pa.scalar(supplied, pa.string()), size)
    return _plain(batch[place])


def _ambiguous_date(reader: _Reader, header: Header, dates: _Dates, row: int) -> FocusFileError:
    column, value = next(
        (column, value)
        for column, value in dates.entries(_date_columns(header))
        if ordered_date(value, DateOrder.DAY_FIRST) != ordered_date(value, DateOrder.MONTH_FIRST)
    )
    days = [day for order in DateOrder if (day := ordered_date(value, order))]
    both = " or ".join(f"{day.day} {day:%B %Y}" for day in days)
    return FocusFileError(
        f"{header.name}, {reader.row(row)}, column {column}: {display_value(value)} is {both}, and neither another date nor the "
        "billing periods of the file decide. Set the date order: “Date order” on the upload form, --dates "
        "day-first or --dates month-first with import_focus. Nothing was imported.",
        field="date_order",
        value=value,
    )


def _is_text(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _plain(values: pa.Array) -> pa.Array:
    """Convert to text; values stored as dates become ISO 8601."""
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_timestamp(plain.type):
        plain = plain.cast(pa.timestamp("s"), safe=False).cast(pa.string())
    return plain.cast(pa.string())
