"""Usage as files of JSON lines, one for each day (UTC), in the form of pushed events: the result of usage connectors
for a month."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from finops.connections.connector import Fetch, SourceError
from finops.costs.focus.normalise import FocusFile

MAX_ROWS: Final = 5_000_000
"""The most rows of a month."""
_SUFFIX: Final = ".jsonl"
_REPORTED_BYTES: Final = 64 * 1024
"""Bytes written between two calls of `Fetch.progress`. A call for each row took a tenth of the time."""


class _Event(msgspec.Struct, omit_defaults=True, gc=False):
    """An event in the form of a push. A struct is encoded in half the time of a dict."""

    customer_id: str | None = None
    customer_name: str | None = None
    metric: str | None = None
    unit: str | None = None
    quantity: msgspec.Raw | None = None
    dimensions: dict[str, str] | None = None
    timestamp: str = ""


_encode: Final = msgspec.json.Encoder().encode


class UsageFiles:
    """The files of a month, while it is read."""

    def __init__(self, fetch: Fetch, month: date, stack: ExitStack) -> None:
        self.rows = 0
        self._fetch, self._month, self._stack = fetch, month, stack
        self._files: dict[date, tuple[Path, BinaryIO]] = {}
        self._unreported = 0

    def add(
        self,
        *,
        customer: str | None,
        metric: str | None,
        quantity: Decimal | None,
        moment: datetime,
        unit: str | None = None,
        name: str | None = None,
        dimensions: dict[str, str] | None = None,
    ) -> None:
        """Add a row. Missing and invalid values are left to the validation of pushed events; a row of another month
        is ignored. Raises SourceError beyond MAX_ROWS."""
        if moment.tzinfo is not UTC:
            moment = moment.astimezone(UTC)
        if moment.month != self._month.month or moment.year != self._month.year:
            return
        self.rows += 1
        if self.rows > MAX_ROWS:
            raise SourceError(
                f"The month has more than {MAX_ROWS:,} rows, the limit. Sum them by day and customer."
            )
        # Copied as digits, without floating point.
        digits = (
            msgspec.Raw(f"{quantity:f}".encode()) if quantity is not None and quantity.is_finite() else None
        )
        event = _Event(customer, name, metric, unit, digits, dimensions, moment.isoformat())
        self._unreported += self._file(moment.date()).write(_encode(event) + b"\n")
        if self._unreported > _REPORTED_BYTES:
            self._report()

    def _report(self) -> None:
        size, self._unreported = self._unreported, 0
        self._fetch.progress(size)

    def _file(self, day: date) -> BinaryIO:
        entry = self._files.get(day)
        if entry is None:
            path = self._fetch.folder / f"{day.isoformat()}{_SUFFIX}"
            entry = self._files[day] = (path, self._stack.enter_context(path.open("wb")))
        return entry[1]

    def files(self) -> list[FocusFile]:
        """Return the files, which are complete after the `usage_files` block."""
        self._report()
        return [FocusFile(path, path.name) for _day, (path, _file) in sorted(self._files.items())]


@contextmanager
def usage_files(fetch: Fetch, month: date) -> Iterator[UsageFiles]:
    with ExitStack() as stack:
        yield UsageFiles(fetch, month, stack)


def day_of_file(name: str) -> date:
    return date.fromisoformat(name.removesuffix(_SUFFIX))
