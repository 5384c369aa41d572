"""Daily series to forecast, and the days on which the future is cut off: the demo company's bills, and CSV files."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq

from finops.demo.generate import write_source
from finops.lib.periods import DateRange, add_months, month_end, month_start

Days = Mapping[date, float]

HISTORY_DAYS = 365
LAST_DAY = date(2026, 10, 31)
CUT_ON = (11, 24)
MONTHS = 6
WORTH = 20_000
SECOND = Path(__file__).parents[1] / "data" / "forecasts" / "public_daily.json"
CSV_DIRECTORY = "FORECAST_SERIES"
"""Environment variable: a folder of CSV files `day,value`, each a public series; docs/benchmarks.md names those taken."""


@dataclass(frozen=True)
class Case:
    """The known history at the end of a day, and the actual values of the three following horizons."""

    series: str
    history: Days
    future: Days
    horizons: Mapping[str, DateRange]


def demo_series() -> dict[str, Days]:
    """Billed cost of two and a half years by vendor, and by vendor and service."""
    by_series: dict[str, dict[date, float]] = defaultdict(lambda: defaultdict(float))
    with tempfile.TemporaryDirectory() as directory:
        for vendor in ("aws", "azure", "gcp", "anthropic"):
            path = Path(directory) / f"{vendor}.parquet"
            write_source(vendor, path, date(2024, 10, 1), LAST_DAY)
            table = pq.read_table(path, columns=["ServiceName", "ChargePeriodStart", "BilledCost"])
            for service, moment, cost in zip(*(column.to_pylist() for column in table.columns), strict=True):
                by_series[vendor][moment.date()] += float(cost)
                by_series[f"{vendor}: {service}"][moment.date()] += float(cost)
    first = min(min(days) for days in by_series.values())
    count = (LAST_DAY - first).days + 1
    return {
        name: {(day := first + timedelta(days=index)): days.get(day, 0.0) for index in range(count)}
        for name, days in by_series.items()
        if sum(abs(cost) for cost in days.values()) > WORTH
    }


def public_series() -> dict[str, Days]:
    """The CSV files of the folder that the environment names, each divided by its mean: they count things of many
    sizes, and weigh the same so. None without the folder."""
    folder = os.environ.get(CSV_DIRECTORY)
    return {path.stem: _read(path) for path in sorted(Path(folder).glob("*.csv"))} if folder else {}


def second_series() -> dict[str, Days]:
    """Four public series that nothing was chosen on (`tests/data/forecasts`), each divided by its mean."""
    by_series: dict[str, Days] = {}
    for name, each in json.loads(SECOND.read_text()).items():
        first, mean = date.fromisoformat(each["start"]), fmean(each["values"])
        by_series[name] = {
            first + timedelta(days=index): value / mean for index, value in enumerate(each["values"])
        }
    return by_series


def _read(path: Path) -> Days:
    with path.open() as file:
        days = {date.fromisoformat(day): float(value) for day, value in csv.reader(file)}
    mean = fmean(days.values())
    return {day: value / mean for day, value in days.items()}


def cases_of(series: Mapping[str, Days], months: int = MONTHS) -> Iterator[Case]:
    """Rolling origins: the 11th and 24th of the last months of each series that leave the future known."""
    for name, days in series.items():
        last, first = max(days), min(days)
        for back in range(months + 3):
            for cut in CUT_ON:
                origin = add_months(month_start(last), -back).replace(day=cut)
                case = _case(name, days, origin, last)
                if case and (origin - first).days >= HISTORY_DAYS:
                    yield case


def _case(name: str, days: Days, origin: date, last: date) -> Case | None:
    ends = {
        "month end": month_end(origin),
        "30 days": origin + timedelta(days=30),
        "90 days": origin + timedelta(days=90),
    }
    begin = origin + timedelta(days=1)
    horizons = {key: DateRange(begin, end) for key, end in ends.items() if begin <= end <= last}
    known_days = {
        key: span
        for key, span in horizons.items()
        if all(span.start + timedelta(days=index) in days for index in range(span.days))
    }
    since = origin - timedelta(days=HISTORY_DAYS)
    history = {day: value for day, value in days.items() if since < day <= origin}
    if not known_days or origin not in history:
        return None
    return Case(name, history, {day: value for day, value in days.items() if day > origin}, known_days)
