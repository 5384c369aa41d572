"""One batch of a file as cost rows: every column of the spool, from the file's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import amounts, convert
from finops.costs.focus import columns as spec
from finops.costs.focus.convert import DICTIONARY, text
from finops.costs.focus.errors import BadCell
from finops.costs.focus.formats import Formats
from finops.costs.focus.header import Header
from finops.costs.focus.jsontext import as_text, is_nested, json_text
from finops.costs.focus.report import Findings
from finops.costs.focus.spool import FLAT_TAGS
from finops.costs.focus.tags import Tags
from finops.lake.schema import EXTENSION_PREFIX, MOMENT, MONEY, extension_name


class Columns:
    """The cost columns of one batch."""

    def __init__(
        self,
        batch: Mapping[int, pa.Array],
        header: Header,
        findings: Findings,
        tags: Tags,
        formats: Formats,
    ) -> None:
        self._batch = batch
        self._header = header
        self._findings = findings
        self._tags = tags
        self._formats = formats
        self._size = len(next(iter(batch.values())))
        self._texts: dict[str, pa.DictionaryArray] = {}

    def of(self, name: str, periods: pa.Array) -> pa.Array:
        """Return the column `name` of the spool."""
        if name == "charge_date":
            return self._charge_days(periods)
        if name == FLAT_TAGS:
            return self.tags()
        if name in spec.AMOUNTS:
            return self._amount(spec.AMOUNTS[name])
        if name in spec.TIMES:
            return self._moments(spec.TIMES[name])
        if name == "currency":
            return self._currency()
        if name.startswith(EXTENSION_PREFIX):
            return self._extension(name)
        if name in spec.DENSE:
            return self._dense(*spec.TEXTS[name])
        return self._first(spec.ACTOR_COLUMNS if name == "actor" else spec.TEXTS[name])

    def periods(self) -> pa.Array:
        """Return the first days of the billing periods."""
        column = spec.BILLING_PERIOD
        periods = convert.period(self._raw(column), column, self._findings_for(column), self._formats)
        return self._check_complete(column, periods)

    def check_month(self, periods: pa.Array, month: date) -> None:
        """Raises BadCell at the first row of another billing month."""
        is_other = pc.not_equal(pc.floor_temporal(periods, unit="month").cast(pa.date32()), pa.scalar(month))
        if pc.any(is_other).as_py():
            index = pc.index(is_other, True).as_py()
            value, problem = self._raw(spec.BILLING_PERIOD)[index].as_py(), f"is not of {month:%Y-%m}"
            raise BadCell(spec.BILLING_PERIOD, index, value, problem)

    def _charge_days(self, periods: pa.Array) -> pa.Array:
        if not self._header.has(spec.CHARGE_PERIOD):
            self._findings.cells(
                "charge_period_from_billing_period", spec.CHARGE_PERIOD, pc.is_valid(periods)
            )
            return periods
        column = spec.CHARGE_PERIOD
        days = convert.day(self._raw(column), column, self._findings_for(column), self._formats)
        if not days.null_count:
            return days
        self._findings.cells("charge_period_from_billing_period", spec.CHARGE_PERIOD, pc.is_null(days))
        return pc.coalesce(days, periods)

    def tags(self) -> pa.Array:
        """Return the tags in the flat form."""
        if not self._header.has(spec.TAGS):
            return _null_column(self._size)
        return self._tags.flat(self._raw(spec.TAGS), spec.TAGS, self._findings_for(spec.TAGS))

    def _amount(self, column: str) -> pa.Array:
        if not self._header.has(column):
            return pa.nulls(self._size, MONEY)
        of_column = amounts.quantity if column in spec.QUANTITIES else amounts.amount
        convert: Converter = partial(of_column, formats=self._formats)
        if column in spec.LENIENT:
            convert = partial(convert_leniently, convert, MONEY)
        return self._check_complete(column, convert(self._raw(column), column, self._findings_for(column)))

    def _moments(self, column: str) -> pa.Array:
        if not self._header.has(column):
            return pa.nulls(self._size, MOMENT)
        raw = self._raw(column)

        day: Converter = partial(convert.day, formats=self._formats)

        def days() -> pa.Array:
            # Their unusual spellings are counted with the day of the charge or of the billing period.
            if column in spec.LENIENT:
                return convert_leniently(day, pa.date32(), raw, column, self._findings_for(column))
            return day(raw, column, Findings())

        return moments(raw, column, days)

    def _currency(self) -> pa.DictionaryArray:
        (column,) = spec.TEXTS["currency"]
        return convert.currency(self._text(column), column, self._findings_for(column))

    def _dense(self, column: str) -> pa.Array:
        if not self._header.has(column):
            return pa.nulls(self._size, pa.string())
        return convert.dense_text(self._raw(column), column, self._findings_for(column))

    def _first(self, names: Sequence[str]) -> pa.DictionaryArray:
        """Return the first of these FOCUS columns that has a value, row by row."""
        present = [self._text(name) for name in names if self._header.has(name)]
        if not present:
            return _null_column(self._size)
        values = present[0]
        for other in present[1:]:
            if values.null_count:
                values = pc.coalesce(
                    values.dictionary_decode(), other.dictionary_decode()
                ).dictionary_encode()
        return values

    def _extension(self, name: str) -> pa.DictionaryArray:
        """Return a provider's own column, of any type, as text."""
        if name not in self._header.position:
            return _null_column(self._size)
        column = f"x_{extension_name(name)}"
        raw, noting = self._raw(name), self._findings_for(column)
        values = convert_leniently(convert.text, DICTIONARY, as_text(raw), column, noting)
        return values if values.type == DICTIONARY else values.dictionary_encode()

    def _text(self, column: str) -> pa.DictionaryArray:
        if column not in self._texts:
            raw = self._raw(column)
            if column in spec.DETAILS and is_nested(raw.type):
                raw = json_text(raw)
            values = convert.text(raw, column, self._findings_for(column))
            self._texts[column] = self._check_complete(column, values)
        return self._texts[column]

    def _check_complete(self, column: str, values: pa.Array) -> pa.Array:
        """Refuse an empty cell that a row cannot do without; count one where FOCUS requires a value."""
        if not values.null_count:
            return values
        if column in spec.NEVER_NULL:
            index = pc.index(pc.is_null(values), True).as_py()
            raise BadCell(
                column, index, None, "is empty, but required for cost lines (remove rows of totals)"
            )
        if column in spec.EXPECTED:
            self._findings.cells("empty_expected", column, pc.is_null(values))
        return values

    def _findings_for(self, column: str) -> Findings:
        """Return where findings of `column` are counted; the owner's value is not part of the file."""
        return Findings() if column in self._header.supplied else self._findings

    def _raw(self, column: str) -> pa.Array:
        if column in self._header.position:
            return self._batch[self._header.position[column]]
        return pa.repeat(pa.scalar(self._header.supplied[column]), self._size)


def split_by_month(rows: pa.RecordBatch, periods: pa.Array) -> Iterator[tuple[date, pa.RecordBatch]]:
    """Yield the rows of each billing month; nearly always there is one."""
    ends = pc.min_max(periods).as_py()
    first, last = ends["min"].replace(day=1), ends["max"].replace(day=1)
    if first == last:
        yield first, rows
        return
    months = pc.floor_temporal(periods, unit="month").cast(pa.date32())
    for month in pc.unique(months).to_pylist():
        yield month, rows.filter(pc.equal(months, pa.scalar(month, pa.date32())))


def _null_column(size: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.nulls(size, pa.int32()), pa.array([], pa.string()))


Converter = Callable[[pa.Array, str, Findings], pa.Array]
"""A function of convert.py: from a column of the file to one of the lake; BadCell for an invalid value."""


def convert_leniently(
    convert: Converter,
    type_: pa.DataType,
    values: pa.Array,
    column: str,
    findings: Findings,
) -> pa.Array:
    """Convert as `convert` does, but invalid values become null, counted in the findings."""
    try:
        return convert(values, column, findings)
    except BadCell as bad:
        if bad.index < 0:
            findings.cells("unreadable", column, pc.is_valid(values))
            return pa.nulls(len(values), type_)
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    ones = [encoded.dictionary.slice(place, 1) for place in range(len(encoded.dictionary))]
    refused = pa.array([_refuses(convert, value, column) for value in ones]).take(encoded.indices)
    findings.cells("unreadable", column, refused, values)
    readable = pc.if_else(refused, pa.scalar(None, ones[0].type), encoded.dictionary_decode())
    return convert(
        readable, column, Findings()
    )  # its unusual spellings were counted up to the first refused value


def _refuses(convert: Converter, value: pa.Array, column: str) -> bool:
    try:
        convert(value, column, Findings())
    except BadCell:
        return True
    return False


_REMEMBERED: Final = 50_000
_known: dict[str, _Moment] = {}


class _Moment(NamedTuple):
    """A moment, or only the time of day if another column gives the day."""

    moment: datetime | None
    time: time | None = None


def moments(values: pa.Array, column: str, days: Callable[[], pa.Array]) -> pa.Array:
    """Return the moments of a column of texts, timestamps or dates; UTC without a zone.

    `days` returns the column's days as `convert.day` does, called only for texts other than ISO 8601. Invalid: null.
    """
    if pa.types.is_date(values.type):
        return values.cast(pa.timestamp("ms")).cast(MOMENT)
    if pa.types.is_timestamp(values.type):
        return values.cast(MOMENT, safe=False)
    encoded = text(values, column, Findings())
    parsed = [_moment(value) for value in encoded.dictionary.to_pylist()]
    exact = pa.array([each.moment for each in parsed], MOMENT).take(encoded.indices)
    if exact.null_count == encoded.null_count:
        return exact
    of_day = pa.array([each.time and _micros(each.time) for each in parsed], pa.int64()).take(encoded.indices)
    midnight = days().cast(pa.timestamp("ms")).cast(MOMENT)
    return pc.coalesce(exact, pc.add(midnight, pc.fill_null(of_day, 0).cast(pa.duration("us"))))


def _moment(value: str) -> _Moment:
    """Parse a moment, cached: a file has the same hours many times."""
    moment = _known.get(value)
    if moment is None:
        if len(_known) > _REMEMBERED:
            _known.clear()
        moment = _known[value] = _parse(value.strip())
    return moment


def _parse(bare: str) -> _Moment:
    try:
        moment = datetime.fromisoformat(bare.removesuffix(" UTC"))
        return _Moment(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))
    except (ValueError, OverflowError):
        pass
    of_day = bare.partition(" ")[2].strip()
    try:
        if of_day[-2:].upper() in ("AM", "PM"):
            return _Moment(None, datetime.strptime(of_day.replace(" ", ""), "%I:%M:%S%p").time())  # noqa: DTZ007 a time
        return _Moment(None, time.fromisoformat(of_day.zfill(5)))
    except ValueError:
        return _Moment(None)


def _micros(of_day: time) -> int:
    return (of_day.hour * 3600 + of_day.minute * 60 + of_day.second) * 1_000_000
