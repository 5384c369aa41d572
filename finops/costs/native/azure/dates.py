"""Days of an export, in the file's order of day and month."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import BadCell
from finops.costs.focus.values import DateOrder, needs_order, ordered_date, parse_day
from finops.costs.native.native_batch import NativeBatch, encode
from finops.costs.native.native_format import TableFile

if TYPE_CHECKING:
    from finops.costs.native.azure.mapping import AzureMapping

_DAY: Final = timedelta(days=1)
_UNDECIDED: Final = (
    "Dates were read as {order}: Azure writes them so, and no date of the file says otherwise. "
    "If that is wrong, set the date order."
)
_SHOWN: Final = {DateOrder.MONTH_FIRST: "month/day/year", DateOrder.DAY_FIRST: "day/month/year"}


def period_start(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return the start of the billing period; if the export has none, the month of the charge."""
    month = pc.floor_temporal(_days(mapping, "date", batch), unit="month").cast(pa.date32())
    if "period_start" not in mapping.place:
        return month
    return pc.coalesce(_days(mapping, "period_start", batch), month)


def period_end(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return the exclusive end: the day after the last. If the export has none, the first day of the next month."""
    start = period_start(mapping, batch)
    next_month = pc.ceil_temporal(start, unit="month", ceil_is_strictly_greater=True).cast(pa.date32())
    if "period_end" not in mapping.place:
        return next_month
    return pc.coalesce(_next(_days(mapping, "period_end", batch)), next_month)


def charge_start(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    return _days(mapping, "date", batch)


def charge_end(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    return _next(_days(mapping, "date", batch))


def _next(days: pa.Array) -> pa.Array:
    return pc.add(days.cast(pa.timestamp("s")), pa.scalar(_DAY, pa.duration("s"))).cast(pa.date32())


def _days(mapping: AzureMapping, name: str, batch: NativeBatch) -> pa.Array:
    """Convert to days. BadCell for an invalid date."""
    native = mapping.place[name]
    values = batch.column(native)
    if pa.types.is_temporal(values.type):
        return values.cast(pa.date32(), safe=False)
    encoded = encode(values, native)
    days: list[date | None] = []
    for place, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            days.append(parse_day(text, mapping.date_order).value if text and text.strip() else None)
        except ValueError as error:
            index = pc.index(encoded.indices, place).as_py()
            if index >= 0:
                raise BadCell(native, _origin(batch, index), text, str(error)) from error
            days.append(None)
    return pa.array(days, pa.date32()).take(encoded.indices)


def _origin(batch: NativeBatch, index: int) -> int:
    return index if batch.origin is None else int(batch.origin[index].as_py())


def order_of(mapping: AzureMapping, file: TableFile, choice: DateOrder | None) -> tuple[DateOrder, str]:
    """Return the order of the file's dates, and a note if no date decided it. Reads up to the first one that does.

    A date decides by a part above 12, or by billing periods that start on the first of a month in one order only;
    otherwise dots and dashes mean day first, and a slash is Azure's own order, month first.
    """
    if choice:
        return choice, ""
    places = [file.names.index(name) for name in mapping.native("date", "period_start", "period_end")]
    starts = file.names.index(mapping.place["period_start"]) if "period_start" in mapping.place else -1
    open_texts: set[str] = set()
    fitting = set(DateOrder)
    for batch in file.batches(places, []):
        for place, values in batch.items():
            texts = _ordered_texts(values)
            for text in texts:
                readings = [ordered_date(text, order) for order in DateOrder]
                if readings.count(None) == 1:
                    return (DateOrder.MONTH_FIRST if readings[0] else DateOrder.DAY_FIRST), ""
            open_texts |= texts
            if place == starts:
                fitting &= _first_of_month(texts)
        if not open_texts or len(fitting) == 1:
            return min(fitting, default=DateOrder.MONTH_FIRST), ""
    return _usual(open_texts)


def _ordered_texts(values: pa.Array) -> set[str]:
    """Return the different texts of a column for which the order of day and month matters."""
    dictionary = values.dictionary if pa.types.is_dictionary(values.type) else values
    if not pa.types.is_string(dictionary.type):
        return set()
    return {text for text in dictionary.to_pylist() if text and needs_order(text)}


def _first_of_month(texts: set[str]) -> set[DateOrder]:
    """Return the orders in which each of these days is the first of a month."""
    return {
        order
        for order in DateOrder
        if all((day := ordered_date(text, order)) and day.day == 1 for text in texts)
    }


def _usual(texts: set[str]) -> tuple[DateOrder, str]:
    slashes = any("/" in text for text in texts)
    order = DateOrder.MONTH_FIRST if slashes else DateOrder.DAY_FIRST
    both = any(
        ordered_date(text, DateOrder.DAY_FIRST) != ordered_date(text, DateOrder.MONTH_FIRST) for text in texts
    )
    return order, _UNDECIDED.format(order=_SHOWN[order]) if both else ""
