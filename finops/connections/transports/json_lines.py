"""Usage as files of JSON lines, one a day (UTC), each line an event as it would be pushed: what usage connectors leave of a month."""

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
"""Of a month."""
_SUFFIX: Final = ".jsonl"


class UsageFiles:
    """The files of a month that is being read."""

    def __init__(self, fetch: Fetch, month: date, stack: ExitStack) -> None:
        self.rows = 0
        self._fetch, self._month, self._stack = fetch, month, stack
        self._files: dict[date, tuple[Path, BinaryIO]] = {}

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
        """What is missing or wrong is left to the rules of pushed events. Raises SourceError beyond MAX_ROWS. A row of another month
        is that month's, and left out."""
        moment = moment.astimezone(UTC)
        if (moment.year, moment.month) != (self._month.year, self._month.month):
            return
        self.rows += 1
        if self.rows > MAX_ROWS:
            raise SourceError(
                f"The month has more than {MAX_ROWS:,} rows, the limit. Sum them by day and customer."
            )
        event = {
            "customer_id": customer,
            "customer_name": name,
            "metric": metric,
            "unit": unit,
            # Copied as digits: no number passes through a float.
            "quantity": msgspec.Raw(f"{quantity:f}".encode())
            if quantity is not None and quantity.is_finite()
            else None,
            "dimensions": dimensions,
            "timestamp": moment.isoformat(),
        }
        line = msgspec.json.encode({key: value for key, value in event.items() if value is not None}) + b"\n"
        self._fetch.progress(self._file(moment.date()).write(line))

    def _file(self, day: date) -> BinaryIO:
        if day not in self._files:
            path = self._fetch.folder / f"{day.isoformat()}{_SUFFIX}"
            self._files[day] = (path, self._stack.enter_context(path.open("wb")))
        return self._files[day][1]

    def files(self) -> list[FocusFile]:
        """Whole once the block has ended."""
        return [FocusFile(path, path.name) for _day, (path, _file) in sorted(self._files.items())]


@contextmanager
def usage_files(fetch: Fetch, month: date) -> Iterator[UsageFiles]:
    with ExitStack() as stack:
        yield UsageFiles(fetch, month, stack)


def day_of_file(name: str) -> date:
    return date.fromisoformat(name.removesuffix(_SUFFIX))
