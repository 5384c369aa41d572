"""The events of a batch by column, with times and quantities as Arrow has them: a thousand events as Python objects
take twice the time of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from finops.lake import schema as schemas

MOMENT: Final = pa.timestamp("us", tz="UTC")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_decode_dimensions = msgspec.json.Decoder(dict[str, str]).decode


class InboxEvent(Struct, frozen=True, gc=False):
    """One accepted event. `position` is its index in the pushed batch; `dimensions` is a JSON object's text.

    `quantity` has at most 12 places, and 26 digits before them.
    """

    position: int
    event_time: datetime
    customer_id: str
    metric: str
    unit: str | None
    quantity: Decimal
    dimensions: str | None


class EventColumns(Struct, gc=False):
    """Events: the fields of InboxEvent by column, and the keys of all their dimensions."""

    positions: Sequence[int]
    times: pa.Array
    customer_ids: Sequence[str]
    metrics: Sequence[str]
    units: Sequence[str | None]
    quantities: pa.Array
    dimensions: Sequence[str | None]
    keys: frozenset[str]

    @classmethod
    def of(cls, events: Sequence[InboxEvent]) -> EventColumns:
        texts = [event.dimensions for event in events]
        return cls(
            [event.position for event in events],
            moments([event.event_time for event in events]),
            [event.customer_id for event in events],
            [event.metric for event in events],
            [event.unit for event in events],
            pa.array([event.quantity for event in events], schemas.QUANTITY),
            texts,
            keys_of(texts),
        )

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[InboxEvent]:
        # Quantities as they were sent: 3, not 3.000000000000.
        quantities = (_without_zeros(quantity) for quantity in self.quantities.to_pylist())
        columns = (self.positions, self.times.to_pylist(), self.customer_ids, self.metrics, self.units)
        rows = zip(*columns, quantities, self.dimensions, strict=True)
        return (InboxEvent(*row) for row in rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventColumns) and list(self) == list(other)

    def days(self) -> tuple[date, date] | None:
        """Return the UTC days of the first and the last event; None without events."""
        if not len(self):
            return None
        span = pc.min_max(self.times).as_py()
        return span["min"].date(), span["max"].date()

    def count_outside(self, first: datetime, last: datetime) -> int:
        """Return the number of events before `first` or after `last`."""
        if not len(self):
            return 0
        times = self.times.view(pa.int64())
        start, end = ((moment - _EPOCH) // timedelta(microseconds=1) for moment in (first, last))
        span = pc.min_max(times)
        if span["min"].as_py() >= start and span["max"].as_py() <= end:
            return 0
        return int(pc.sum(pc.or_(pc.less(times, start), pc.greater(times, end))).as_py())

    def take(self, indexes: Sequence[int]) -> EventColumns:
        """Return the events at these indexes."""
        texts = [self.dimensions[at] for at in indexes]
        return EventColumns(
            [self.positions[at] for at in indexes],
            self.times.take(pa.array(indexes, pa.int64())),
            [self.customer_ids[at] for at in indexes],
            [self.metrics[at] for at in indexes],
            [self.units[at] for at in indexes],
            self.quantities.take(pa.array(indexes, pa.int64())),
            texts,
            keys_of(texts),
        )


def keys_of(texts: Sequence[str | None]) -> frozenset[str]:
    """Return the keys of dimensions."""
    return frozenset[str]().union(*[_decode_dimensions(text) for text in set(texts) if text is not None])


def moments(times: Sequence[datetime]) -> pa.Array:
    # Arrow takes durations in half the time that it takes for datetimes.
    return pa.array([time - _EPOCH for time in times], pa.duration("us")).view(MOMENT)


_WIDE: Final = Context(prec=60)


def _without_zeros(quantity: Decimal) -> Decimal:
    whole = quantity.to_integral_value()
    return whole if whole == quantity else quantity.normalize(_WIDE)
