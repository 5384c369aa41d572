"""Columns of times as exact moments in UTC, for what the lake keeps of periods; days are `convert.day`'s."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.convert import text
from finops.costs.focus.findings import Findings
from finops.lake.schema import MOMENT

_REMEMBERED: Final = 50_000
_known: dict[str, _Moment] = {}


class _Moment(NamedTuple):
    """A moment, or what is known of one whose day is another's to tell: the time of day."""

    moment: datetime | None
    time: time | None = None


def moments(values: pa.Array, column: str, days: Callable[[], pa.Array]) -> pa.Array:
    """The moments of a column of texts, timestamps or dates; without a zone, of UTC.

    `days` gives the column's days as `convert.day` reads them, asked only for texts that are not ISO 8601. A value that
    is no time at all is null.
    """
    if pa.types.is_date(values.type):
        return values.cast(pa.timestamp("ms")).cast(MOMENT)
    if pa.types.is_timestamp(values.type):
        return values.cast(MOMENT, safe=False)
    encoded = text(values, column, Findings())
    parsed = [_moment(value) for value in encoded.dictionary.to_pylist()]
    exact = pa.array([one.moment for one in parsed], MOMENT).take(encoded.indices)
    if exact.null_count == encoded.null_count:
        return exact
    of_day = pa.array([one.time and _micros(one.time) for one in parsed], pa.int64()).take(encoded.indices)
    midnight = days().cast(pa.timestamp("ms")).cast(MOMENT)
    return pc.coalesce(exact, pc.add(midnight, pc.fill_null(of_day, 0).cast(pa.duration("us"))))


def _moment(value: str) -> _Moment:
    """Remembered: a file names the same hours again and again."""
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
