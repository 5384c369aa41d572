"""Right answers from the raw files alone: plain SQL of DuckDB over the demo's bills, and its usage events in Python."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from finops.demo.company import SOURCES
from finops.demo.generate import first_day, write_source
from finops.demo.usage import METRICS, QUANTITY_SCALE, events_on

Day = datetime.date
Figures = dict[tuple[str, ...], Decimal]
"""Amounts by what they are of; a currency is the last part of the key."""

NOW = datetime.datetime(2026, 11, 20, 9, tzinfo=datetime.UTC)
MONTHS = 3
YESTERDAY = Day(2026, 11, 19)
PLACES = Decimal("0.000001")
"""Amounts of answers are JSON numbers of six places."""

PERIODS: Mapping[str, tuple[Day, Day]] = {
    "yesterday": (YESTERDAY, YESTERDAY),
    "last_7_days": (Day(2026, 11, 13), YESTERDAY),
    "last_30_days": (Day(2026, 10, 21), YESTERDAY),
    "last_week": (Day(2026, 11, 9), Day(2026, 11, 15)),
    "month_to_date": (Day(2026, 11, 1), YESTERDAY),
    "last_month": (Day(2026, 10, 1), Day(2026, 10, 31)),
    "month_before": (Day(2026, 9, 1), Day(2026, 9, 30)),
    "quarter_to_date": (Day(2026, 10, 1), YESTERDAY),
}
COLUMNS: Mapping[str, str] = {
    "service": "ServiceName",
    "provider": "ProviderName",
    "region": "RegionId",
    "account": "SubAccountId",
    "service_category": "ServiceCategory",
    "charge_category": "ChargeCategory",
    "source": "source",
    "resource": "ResourceId",
}
MEASURES: Mapping[str, str] = {"billed": "BilledCost", "amortized": "EffectiveCost", "list": "ListCost"}


@dataclass(frozen=True)
class Spend:
    """A sum of cost lines. `where` is SQL over the raw columns; `tag` a key of Tags to group by."""

    period: str
    by: str = ""
    tag: str = ""
    where: str = "true"
    measure: str = "billed"
    bucket: str = ""

    @property
    def parts(self) -> list[str]:
        bucket = f"strftime(date_trunc('{self.bucket}', day), '%Y-%m-%d')" if self.bucket else ""
        tag = f"tags['{self.tag}']" if self.tag else ""
        column = COLUMNS[self.by] if self.by else ""
        return [part for part in (column, tag, bucket) if part]


@dataclass(frozen=True)
class Usage:
    """The quantity of a metric that adds up."""

    period: str
    metric: str
    by_customer: bool = False


@dataclass
class RawFiles:
    """The demo's bills as Parquet files in `folder`, written anew from its story, and never read by the product."""

    folder: Path
    _usage: dict[Usage, Figures] = field(default_factory=dict)

    @cached_property
    def _lines(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        selects = []
        for key, source in SOURCES.items():
            path = self.folder / f"{key}.parquet"
            write_source(key, path, first_day(NOW.date(), MONTHS), YESTERDAY)
            tags = "Tags" if key == "aws" else "json_transform(Tags, '\"MAP(VARCHAR, VARCHAR)\"')"
            selects.append(
                f"select * exclude (Tags), {tags} as tags, '{source.name}' as source, ChargePeriodStart::date as day "
                f"from '{path}'"
            )
        connection.execute("set timezone = 'UTC'")
        connection.execute(f"create table lines as {' union all by name '.join(selects)}")
        return connection

    def spend(self, question: Spend) -> Figures:
        start, end = PERIODS[question.period]
        keys = [*question.parts, "BillingCurrency"]
        statement = (
            f"select {', '.join(keys)}, sum({MEASURES[question.measure]}) from lines "
            f"where day between '{start}' and '{end}' and ({question.where}) group by all"
        )
        rows = self._lines.execute(statement).fetchall()
        return {tuple(str(part) for part in row[:-1]): row[-1] for row in rows}

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The answer to SQL over the table `lines`."""
        return self._lines.execute(statement).fetchall()

    def values(self, dimension: str) -> list[str]:
        """The values of a dimension, the largest cost first."""
        column = COLUMNS[dimension]
        rows = self._lines.execute(
            f"select {column} from lines where {column} is not null group by 1 order by sum(BilledCost) desc, 1"
        ).fetchall()
        return [str(row[0]) for row in rows]

    def usage(self, question: Usage) -> Figures:
        if question not in self._usage:
            self._usage[question] = self._count(question)
        return self._usage[question]

    def _count(self, question: Usage) -> Figures:
        (metric,) = (each for each in METRICS if each.name == question.metric)
        sums: dict[tuple[str, ...], int] = {}
        for day in _days(question.period):
            for event in events_on(metric, day):
                key = (event.customer,) if question.by_customer else ()
                sums[key] = sums.get(key, 0) + event.quantity
        return {key: Decimal(count).scaleb(-QUANTITY_SCALE) for key, count in sums.items()}


def _days(period: str) -> Sequence[Day]:
    start, end = PERIODS[period]
    return [start + datetime.timedelta(days=number) for number in range((end - start).days + 1)]
