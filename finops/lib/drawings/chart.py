"""The data of a drawn chart. It is plain data because it is stored with the message of an alert."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

import msgspec

from finops.lib.charts import SeriesTable
from finops.lib.formats import dates, numbers
from finops.lib.sentences import truncate

Tone = Literal["", "rest", "unusual", "forecast"]

MAX_COLUMNS = 62
MAX_NAME = 40


class DrawnSeries(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value for each label; None: no data. Without a tone the series has the colour of its position."""

    name: str
    values: list[float | None]
    tone: Tone = ""


class ColumnChart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Columns by day or month, with the series stacked. `title` names the figure; `limit` is a line across."""

    title: str
    currency: str
    labels: list[str]
    series: list[DrawnSeries]
    limit: float | None = None
    limit_name: str = ""

    @property
    def totals(self) -> list[float | None]:
        """The total of each column; None where no series has a value."""
        columns = [[each.values[at] for each in self.series] for at in range(len(self.labels))]
        return [_column_total(column) for column in columns]

    @property
    def alt(self) -> str:
        """The chart's text alternative in a sentence: the first, the highest and the last column."""
        columns = [
            (label, total) for label, total in zip(self.labels, self.totals, strict=True) if total is not None
        ]
        if not columns:
            return f"{self.title}: no data"
        highest = max(columns, key=lambda pair: pair[1])
        ends = dict.fromkeys([columns[0], highest, columns[-1]])
        parts = [f"{dates.bucket(label)} {_amount(total, self.currency)}" for label, total in ends]
        return f"{self.title}: {', '.join(parts)}"


def _amount(value: float, currency: str) -> str:
    """Format an amount; a unit cost may be a small part of a cent."""
    is_small = 0 < abs(value) < 0.01
    return numbers.price(value, currency) if is_small else numbers.money(value, currency)


def chart_of(table: SeriesTable, title: str) -> ColumnChart:
    """Return the drawing of a table of amounts."""
    series = [
        DrawnSeries(
            name=truncate(each["name"], MAX_NAME), values=each["values"], tone="rest" if each["rest"] else ""
        )
        for each in table.chart["series"]
    ]
    return ColumnChart(title=title, currency=table.currency, labels=table.labels, series=series)


def to_values(amounts: Sequence[Decimal | None]) -> list[float | None]:
    """Convert to floats: a double is enough for a drawing."""
    return [None if each is None else float(each) for each in amounts]


def _column_total(values: Sequence[float | None]) -> float | None:
    amounts = [value for value in values if value is not None]
    return sum(amounts) if amounts else None
