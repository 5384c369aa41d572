"""Charts by bucket, and the tables of their figures, as pages draw them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from finops.lib.formats import dates, numbers

OTHER = "Other"
PLACES = 6
FEW_SERIES = 2

Values = list[Decimal | None]


@dataclasses.dataclass(frozen=True)
class Line:
    """One series, a value for each bucket; None: no data. `rest`: the sum of all the others.

    `dashed` marks values that are not measured: forecasts, plans. `tone`: `limit` is drawn in red, `warning` in amber,
    `forecast` pale, `like_first` as the first series.
    """

    name: str
    values: Sequence[Decimal | None]
    rest: bool = False
    dashed: bool = False
    tone: str = ""


@dataclasses.dataclass(frozen=True)
class BandLine:
    """A shaded range between two values for each bucket, in the colour of the first series."""

    name: str
    lower: Sequence[Decimal | None]
    upper: Sequence[Decimal | None]


@dataclasses.dataclass(frozen=True)
class SeriesTable:
    """The figures of one chart: a name, a value for each bucket, and the value of the whole range; totals last. Amounts
    have their currency, quantities none."""

    unit: str
    labels: list[str]
    rows: list[tuple[str, Values, Decimal]]
    totals: Values
    whole: Decimal | None
    chart: dict[str, Any]
    currency: str = ""

    @property
    def names(self) -> list[str]:
        return [name or "Total" for name, _values, _whole in self.rows]

    @property
    def fits_phones(self) -> bool:
        """Whether a phone shows the table without scrolling; others are blocks there, one a row."""
        return len(self.rows) <= FEW_SERIES

    @property
    def by_bucket_rows(self) -> list[tuple[str, Values, Decimal | None]]:
        """The figures as one row a bucket, if there are more buckets than series; else no rows."""
        if len(self.labels) <= max(FEW_SERIES, len(self.rows)):
            return []
        values = [row_values for _name, row_values, _whole in self.rows]
        return [
            (label, [row[index] for row in values], self.totals[index])
            for index, label in enumerate(self.labels)
        ]


def bucket_label(first_day: str, granularity: str) -> str:
    return first_day[:7] if granularity == "month" else first_day


def other_name(groups: int) -> str:
    """The name of the row that sums up this many groups."""
    return f"{OTHER} ({groups:,})"


def by_bucket(series: Mapping[str, Decimal | None], buckets: Sequence[str]) -> Values:
    return [series.get(bucket) for bucket in buckets]


def chart_spec(
    *,
    unit: str,
    labels: list[str],
    lines: Sequence[Line],
    line: bool,
    stacked: bool,
    places: int | None = None,
    band: BandLine | None = None,
    mark: str = "",
    shade: tuple[str, str] | None = None,
    events: Sequence[tuple[str, str]] = (),
    is_money: bool = False,
) -> dict[str, Any]:
    """Return what charts.js draws, as lines or as bars; `places` are the decimals in tips, by default those of amounts.

    `is_money`: amounts with decimals of their own, such as the cost of one unit. `mark` is the label at which an upright
    line stands, `shade` the first and last label of a shaded window, `events` labels with the short text of a flag at each.
    """
    chart: dict[str, Any] = {
        "kind": "line" if line else "bar",
        "stacked": stacked,
        "currency": unit,
        "labels": labels,
        "series": [series_spec(each, places or PLACES) for each in lines],
    }
    if places is None or is_money:
        own = numbers.browser_unit(unit)
        chart["money"] = own if places is None else {**own, "digits": max(places, own["digits"])}
    if labels and all(map(_DAY_OR_MONTH.fullmatch, labels)):
        chart["texts"] = [dates.bucket(label) for label in labels]
    if band is not None:
        chart["band"] = {
            "name": band.name,
            "lower": _to_floats(band.lower, places or PLACES),
            "upper": _to_floats(band.upper, places or PLACES),
        }
    if mark:
        chart["mark"] = mark
    if shade is not None:
        chart["shade"] = list(shade)
    if events:
        chart["events"] = [{"label": label, "text": text} for label, text in events]
    return chart if places is None else {**chart, "places": places}


_DAY_OR_MONTH = re.compile(r"\d{4}-\d{2}(-\d{2})?")


def series_spec(line: Line, places: int = PLACES) -> dict[str, Any]:
    """Return one series as an entry of a chart's `series`."""
    spec = {"name": line.name, "values": _to_floats(line.values, places), "rest": line.rest}
    return {
        **spec,
        **({"dashed": True} if line.dashed else {}),
        **({"tone": line.tone} if line.tone else {}),
    }


def _to_floats(values: Sequence[Decimal | None], places: int) -> list[float | None]:
    """Return the values as floats: a double is enough for a drawing, and the tables beside it are exact."""
    return [None if value is None else float(round(value, places)) for value in values]
