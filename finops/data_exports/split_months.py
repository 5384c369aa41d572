"""Cost that shared-cost splits move in a month, as extra rows: negative where cost leaves, positive where it arrives.

Uses the same query as the tools, in the account's cost view, so that lines and rows of one dimension add up to the answer
of querySpend by that dimension after splits. Each dimension's rows add up to 0: totals do not change.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from finops.allocation.models import SharedCostSplit
from finops.allocation.queries.split_moves import PRODUCT, moves_of
from finops.allocation.queries.split_rules import split_of
from finops.allocation.splits import Split
from finops.allocation.splits.rules import USAGE
from finops.costs.dimensions import Dimension, registry
from finops.costs.queries.cost_view import cost_view
from finops.costs.queries.spend_lake import ALL_GROUPS, COST_COLUMNS, SpendPlan, SpendSum
from finops.costs.split_registry import SplitQuestion
from finops.data_exports.columns import SPLIT_DIMENSION, SPLIT_VALUE
from finops.data_exports.cost_months import FORMAT, ExportDimensions
from finops.data_exports.parquet_files import MonthFiles
from finops.lake.engine.compiler import compile_query
from finops.lake.queries import data_range, live_segments
from finops.lake.schema import MOMENT, MONEY, Kind
from finops.lib.errors import UserError
from finops.lib.periods import DateRange, add_months, month_start

QUERY_SECONDS: Final = 300
SERVICE: Final = "service"
_ZERO: Final = Decimal(0)


class _Key(NamedTuple):
    """The key of a row; `value` and `service` are null where a line has none."""

    dimension: str
    value: str | None
    service: str | None
    day: date
    currency: str
    category: str | None


@dataclass(frozen=True)
class DimensionValues:
    """The values of some dimensions of a line, for the lake to compile: its identity is that of their rules."""

    dimensions: tuple[Dimension, ...]

    def __call__(self, lines: Any) -> Any:
        return lines.select(**{each.name: each.value(lines) for each in self.dimensions})


@dataclass(frozen=True)
class SplitMonths:
    """The splits of an account, and their dimensions. `columns` are the export's own columns of these, by the name of the
    dimension."""

    export: ExportDimensions
    splits: tuple[Split, ...]
    dimensions: tuple[Dimension, ...]
    columns: Mapping[str, str]
    categories: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, export: ExportDimensions, excluded: Sequence[str]) -> SplitMonths | None:
        """Return the account's splits; None without one. Two queries. Splits on a deleted dimension are left out, and
        reported."""
        splits = tuple(split_of(row) for row in SharedCostSplit.objects.filter(account=export.account))
        if not splits:
            return None
        dimensions, left_out = [], []
        for name in sorted({split.dimension for split in splits}):
            try:
                dimensions.append(registry.resolve(export.context, name))
            except UserError:
                left_out.append(name)
        columns = {each.name: column for column, each in export.dimensions.items() if column not in excluded}
        categories = tuple(cost_view(export.account).charge_categories)
        return cls(export, splits, tuple(dimensions), columns, categories, tuple(left_out))

    def months(self) -> Iterator[date]:
        """The months in which lines may be charged, the newest first. One query."""
        days = data_range(self.export.account, Kind.COST)
        month = month_start(days.last_day) if days else date.min
        while days and month >= month_start(days.first_day):
            yield month
            month = add_months(month, -1)

    def month(self, month: date) -> SplitMonth | None:
        """Return the month; None without a line in it. One query, two where usage decides."""
        days = DateRange(month, add_months(month, 1) - timedelta(days=1))
        account = self.export.account
        paths = list(live_segments(account, Kind.COST, days.start, days.end).values_list("path", flat=True))
        if not paths:
            return None
        if any(split.method == USAGE for split in self.splits):
            paths += live_segments(account, Kind.USAGE, days.start, days.end).values_list("path", flat=True)
        return SplitMonth(self, days, tuple(paths))


@dataclass(frozen=True)
class SplitMonth:
    """The content of a month."""

    months: SplitMonths
    days: DateRange
    paths: tuple[str, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        return self.months.left_out

    @property
    def fingerprint(self) -> str:
        """A hash of the lake's files of these days, the splits, the rules of their dimensions and the cost view."""
        months = self.months
        values = DimensionValues(months.dimensions)
        keys = tuple(dict.fromkeys(key for each in months.dimensions for key in each.tag_keys))
        rules = compile_query(Kind.COST, values, keys).identity if months.dimensions else ""
        parts = [
            FORMAT,
            rules,
            repr(months.splits),
            repr(months.categories),
            repr(sorted(months.columns.items())),
        ]
        return hashlib.sha256("\x00".join([*parts, *self.paths]).encode(errors="replace")).hexdigest()

    def write(self, folder: Path, progress: Callable[[], None]) -> MonthFiles:
        """Write the month. Raises UserError where the sums are too many for memory, and what the lake raises."""
        sums: dict[_Key, dict[str, Decimal]] = defaultdict(lambda: dict.fromkeys(COST_COLUMNS, _ZERO))
        for dimension in self.months.dimensions:
            for basis in COST_COLUMNS:
                for key, amount in self._moves(dimension, basis):
                    sums[key][basis] += amount
                progress()
        files = MonthFiles(folder)
        files.write(self._table(sums).to_batches(), progress)
        return files

    def _moves(self, dimension: Dimension, basis: str) -> Iterator[tuple[_Key, Decimal]]:
        """Return the moved cost of each day, by service too, unless service itself may be the moved dimension."""
        with_service = not any(split.dimension in (PRODUCT, SERVICE) for split in self.months.splits)
        service = registry.resolve(self.months.export.context, SERVICE)
        plan = SpendPlan(
            days=self.days,
            dimensions=(dimension, service) if with_service else (dimension,),
            filters=(),
            basis=basis,
            categories=self.months.categories,
            granularity="day",
            limit=ALL_GROUPS,
        )
        context = self.months.export.context
        question = SplitQuestion(
            self.months.export.account, plan, context, time.monotonic() + QUERY_SECONDS, context.manifest
        )
        for each in moves_of(question, self.months.splits).moves:
            yield _key(dimension, service if with_service else None, each), each.amount

    def _table(self, sums: Mapping[_Key, Mapping[str, Decimal]]) -> pa.Table:
        """Return a table with a row for each movement; none for an amount of 0."""
        rows = [(key, amounts) for key, amounts in sorted(sums.items(), key=repr) if any(amounts.values())]
        days = [key.day for key, _ in rows]
        columns: dict[str, pa.Array] = {
            "BillingPeriodStart": _moments([self.days.start] * len(rows)),
            "ChargePeriodStart": _moments(days),
            "ChargePeriodEnd": _moments([day + timedelta(days=1) for day in days]),
            "BillingCurrency": pa.array([key.currency for key, _ in rows], pa.string()),
            "ChargeCategory": pa.array([key.category for key, _ in rows], pa.string()),
            "ServiceName": pa.array([key.service for key, _ in rows], pa.string()),
            "BilledCost": pa.array([amounts["billed"] for _, amounts in rows], MONEY),
            "EffectiveCost": pa.array([amounts["amortized"] for _, amounts in rows], MONEY),
            SPLIT_DIMENSION: pa.array([key.dimension for key, _ in rows], pa.string()),
            SPLIT_VALUE: pa.array([key.value for key, _ in rows], pa.string()),
        }
        for name, column in self.months.columns.items():
            values = [key.value if key.dimension == name else None for key, _ in rows]
            columns[column] = pa.array(values, pa.string())
        return pa.table(columns)


def _key(dimension: Dimension, service: Dimension | None, each: SpendSum) -> _Key:
    value = None if each.keys[0] == dimension.absent else each.keys[0]
    name = each.keys[1] if service and each.keys[1] != service.absent else None
    assert each.bucket is not None  # noqa: S101 for the type checker: by day
    return _Key(dimension.name, value, name, each.bucket, each.currency, each.charge_category)


def _moments(days: Sequence[date]) -> pa.Array:
    return pa.array([datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days], MOMENT)
