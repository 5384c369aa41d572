"""Lines of a Cost and Usage Report by type, with columns by the names of the data dictionary."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import BadCell
from finops.costs.native.aws import line_types
from finops.costs.native.aws.cur_columns import CurColumns
from finops.costs.native.native_batch import NativeBatch
from finops.lake.schema import MONEY

LINE_TYPE: Final = "line_item_line_item_type"
RESERVATION, PLAN = "reservation_reservation_arn", "savings_plan_savings_plan_arn"
SPLIT_PARENT: Final = "split_line_item_parent_resource_id"
ZERO: Final = pa.scalar(0, MONEY)

_NARROW: Final = pa.decimal128(36, 18)
"""A type for every amount (they are below 10^15), with a digit left for the sum."""


class CurLines:
    """Lines of a batch. `second` marks the second line of those that become two FOCUS lines; None: there are none."""

    def __init__(self, batch: NativeBatch, columns: CurColumns, second: pa.Array | None = None) -> None:
        self.batch = batch
        self.columns = columns
        self.second = second
        self.cache: dict[str, pa.Array] = {}
        """Columns that other columns use, by the function that computes them."""
        self._of_types: dict[tuple[str, ...], pa.Array] = {}

    def has(self, name: str) -> bool:
        return self.columns.has(name)

    def text(self, name: str) -> pa.DictionaryArray:
        """Return a column of texts. KeyError for one that the report lacks."""
        return self.batch.text(self.columns.name(name))

    def amount(self, name: str) -> pa.Array:
        """Return a column of numbers; null in every line if the report lacks it."""
        if not self.has(name):
            return pa.nulls(self.batch.size, MONEY)
        return self.batch.amount(self.columns.name(name))

    def amount_or_zero(self, name: str) -> pa.Array:
        return pc.fill_null(self.amount(name), ZERO)

    def required_amount(self, name: str, lines: pa.Array) -> pa.Array:
        """Return a column of numbers that is mandatory for these lines. BadCell for the first without one."""
        values = self.amount(name)
        is_missing = pc.and_(lines, pc.is_null(values))
        index = pc.index(is_missing, True).as_py()
        if index >= 0:
            origin = self.batch.origin
            line_type = self.text(LINE_TYPE)[index].as_py()
            raise BadCell(
                self.columns.shown(name),
                index if origin is None else origin[index].as_py(),
                None,
                f"is empty, and a line {line_type} has its amortized cost there",
            )
        return values

    def first_amount(self, *names: str) -> pa.Array:
        """Return the first of these columns of numbers that is neither empty nor 0."""
        *early, last = names
        values = self.amount(last)
        for name in reversed(early):
            if self.has(name):
                amount = self.amount(name)
                values = pc.if_else(is_nonzero(amount), amount, values)
        return values

    def are(self, *types: str) -> pa.Array:
        """Return a mask of lines of these types."""
        if types not in self._of_types:
            self._of_types[types] = self.batch.is_one_of(self.columns.name(LINE_TYPE), types)
        return self._of_types[types]

    def is_share(self) -> pa.Array:
        """Return a mask of lines with a share of another line's cost (split cost allocation), or its counter line."""
        if not self.has(SPLIT_PARENT):
            return self.none()
        return pc.is_valid(self.text(SPLIT_PARENT))

    def is_unused(self) -> pa.Array | None:
        """Return a mask of lines with the unused part of a fee's commitment; None: there are none."""
        return None if self.second is None else pc.and_(self.second, pc.invert(self.is_share()))

    def is_consumption(self) -> pa.Array:
        usage = self.are(*line_types.CONSUMPTION)
        return usage if self.second is None else pc.and_(usage, pc.invert(self.second))

    def none(self) -> pa.Array:
        return pa.repeat(pa.scalar(False), self.batch.size)

    def replace(self, values: pa.Array, places: pa.Array, make: Callable[[CurLines], pa.Array]) -> pa.Array:
        """Return the values, replaced where the mask `places` is true by `make` of those lines, which are few."""
        indices = pc.indices_nonzero(places)
        if not len(indices):
            return values
        second = None if self.second is None else self.second.take(indices)
        some = CurLines(self.batch.take(indices), self.columns, second)
        some.cache = {name: column.take(indices) for name, column in self.cache.items()}
        return pc.replace_with_mask(values, places, make(some))


def cached_per_batch(make: Callable[[CurLines], pa.Array]) -> Callable[[CurLines], pa.Array]:
    """Cache, per batch, a column that several others use."""

    @wraps(make)
    def column(lines: CurLines) -> pa.Array:
        if make.__name__ not in lines.cache:
            lines.cache[make.__name__] = make(lines)
        return lines.cache[make.__name__]

    return column


def is_nonzero(values: pa.Array) -> pa.Array:
    return pc.fill_null(pc.not_equal(values, ZERO), False)


def add(left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the exact sum."""
    return pc.add(left.cast(_NARROW), right.cast(_NARROW)).cast(MONEY)


def subtract(left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the exact difference."""
    return pc.subtract(left.cast(_NARROW), right.cast(_NARROW)).cast(MONEY)
