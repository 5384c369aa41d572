"""Lists the months of a source in a child process with limited time and memory, whatever the provider sends. The
process checks its time between two pages or rows; one that hangs within a page is killed from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from finops.connections.connector import (
    BillMonth,
    Connector,
    ConnectorConfig,
    SourceError,
    SourceUnavailable,
)
from finops.connections.services.child_answers import ChildAnswer, answer_of
from finops.connections.transports.page_cache import use_page_cache
from finops.lib import child_process, time_limit
from finops.lib.child_process import ChildOutcome, ChildResult

ANSWER_SECONDS: Final = 5.0
"""Seconds for the child process to report that its time is over."""
_ATTEMPTS: Final = 2
"""Attempts for a process that dies, for example by the kernel's OOM killer."""


def list_source_months(
    connector: Connector[Any],
    config: ConnectorConfig,
    month: date | None = None,
    seconds: float | None = None,
) -> list[BillMonth]:
    """Return the months of a source, or the given one if it exists. Raises the errors of `Connector.months`, and
    SourceUnavailable after `seconds` (SYNC_LOOK_SECONDS), checked between two pages."""
    seconds = settings.SYNC_LOOK_SECONDS if seconds is None else seconds
    try:
        with time_limit.limit_time(seconds):
            if month is None:
                return connector.months(config)
            bill_month = connector.month(config, month)
            return [bill_month] if bill_month else []
    except time_limit.TimeLimitError as error:
        raise _timeout(seconds) from error


def list_source_months_in_child(
    connector: Connector[Any],
    config: ConnectorConfig,
    month: date | None = None,
    *,
    answer: Path,
    name: str,
    progress: Callable[[], None],
    pages: Path | None = None,
) -> list[BillMonth]:
    """Run `list_source_months` in a child process named `name`, which writes its result to a file, and the pages of its lists to
    `pages`. `progress` is called every second and raises to end the sync. Also raises SourceError if the process took
    too much memory, or died twice."""

    def should_continue() -> bool:
        progress()
        return True

    for attempt in range(_ATTEMPTS):
        result = child_process.run(
            f"{__name__}.list_source_months_to_file",
            connector,
            config,
            month,
            answer,
            settings.SYNC_LOOK_SECONDS,
            pages,
            name=name,
            deadline=time.monotonic() + settings.SYNC_LOOK_SECONDS + ANSWER_SECONDS,
            should_continue=should_continue,
        )
        if result.end is not ChildOutcome.DIED or attempt == _ATTEMPTS - 1:
            break
    try:
        if result.end is not ChildOutcome.DONE:
            raise _error_of_end(result)
        months = ChildAnswer.read(answer).or_raise().months
    finally:
        answer.unlink(missing_ok=True)
    return [BillMonth(*each) for each in months]


def list_source_months_to_file(
    connector: Connector[Any],
    config: ConnectorConfig,
    month: date | None,
    answer: Path,
    seconds: float,
    pages: Path | None = None,
) -> None:
    """Entry point of the child process."""

    def months() -> ChildAnswer:
        bill_months = list_source_months(connector, config, month, seconds)
        return ChildAnswer(months=[(each.month, each.fingerprint, each.bytes) for each in bill_months])

    with use_page_cache(pages):
        answer_of(months, "listing").write(answer)


def _timeout(seconds: float) -> SourceUnavailable:
    return SourceUnavailable(
        f"Listing the months took longer than {seconds / 60:g} minutes and was stopped. The "
        "next sync tries again. If it fails again, enter a longer prefix, or delete old objects."
    )


def _error_of_end(result: ChildResult) -> SourceError:
    if result.end is ChildOutcome.TIME:
        return _timeout(settings.SYNC_LOOK_SECONDS)
    if result.end is ChildOutcome.MEMORY:
        limit = child_process.memory_limit() >> 20
        return SourceError(
            f"Listing the months took more than {limit:,} MB of memory and was stopped. Enter a longer prefix or another table, or "
            "ask the operator to raise IMPORT_MEMORY_BYTES."
        )
    return SourceError(
        f"The process that lists the months stopped ({result.cause}). The next sync tries again."
    )
