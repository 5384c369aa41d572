"""What holds for every job that a person starts and a worker does: imports of cost and uploads of usage.

How long one may take, how many of an account may wait, and how one is canceled while it runs: it looks between two
batches, since a thread cannot be ended from outside. Where it runs in a child process its parent looks at the same, and
ends the child (`finops.lib.child_process`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet

from finops.lib import child_process
from finops.lib.child_process import ChildOutcome, ChildResult
from finops.lib.errors import UserError
from finops.lib.telemetry import metrics

UNFINISHED: Final = ("queued", "running")
CANCEL_GRACE_PERIOD: Final = timedelta(seconds=3)
"""A job looks between two batches; one that has not after so long is ended from outside."""


class JobCancellation(Exception):
    """A person canceled the job; whoever runs it stops and leaves what is committed."""


@contextmanager
def count_outcome(counter: metrics.Counter, rows: QuerySet[Any]) -> Iterator[None]:
    """Count by `status` how the job that `rows` has came out, unless it goes on. In the worker, since a child that reads files
    counts nothing. Cost: one query a job where metrics are on."""
    try:
        yield
    finally:
        if metrics.directory() is not None:
            with suppress(DatabaseError):
                status = rows.values_list("status", flat=True).first()
                if status is not None and status not in UNFINISHED:
                    counter.inc(status)


class JobDeadline:
    """Of one attempt at a job, from now on; `end` as `time.monotonic()` has it."""

    def __init__(self) -> None:
        self.end = time.monotonic() + settings.JOB_MAX_SECONDS

    def check(self, what: str) -> None:
        """Raise UserError once the attempt of `what` ("import") has taken longer than a job may."""
        if time.monotonic() > self.end:
            raise UserError(_too_long(what))


def failure_in_child(result: ChildResult, what: str, *, place: str, is_last: bool) -> str:
    """Why a job ("import") fails whose child ended like this at a place ("while reading"), in a sentence; empty where it
    does not fail: it is done or not wanted, or its child died and another may try, which `is_last` denies."""
    match result.end:
        case ChildOutcome.TIME:
            return _too_long(what)
        case ChildOutcome.MEMORY:
            return too_much_memory(what, place)
        case ChildOutcome.DIED if is_last:
            return (
                f"The process of the {what} ended unexpectedly three times, the last time {place} "
                f"({result.cause})."
            )
        case _:
            return ""


def internal_error(what: str, effect: str = "") -> str:
    """For what nobody expected, whose traceback is in the log: "The sync failed with an internal error; existing data is kept."."""
    return f"The {what} failed with an internal error{f'; {effect}' if effect else ''}. Ask the operator to check the server log."


def too_much_memory(what: str, place: str) -> str:
    return (
        f"The {what} was stopped {place}: it used more than {child_process.memory_limit() >> 20:,} MB "
        "of memory. Check for unusually large lines, values or lists, or split the file."
    )


def _too_long(what: str) -> str:
    return (
        f"The {what} took longer than {_hours(settings.JOB_MAX_SECONDS)} and was stopped. Split the "
        "file, or ask the operator of this server for a higher limit."
    )


def check_job_limit(unfinished: int, what: str, *, limit: int, field: str) -> None:
    """Raise UserError when `unfinished` of an account's jobs ("import") leave no room for another."""
    if unfinished >= limit:
        raise UserError(
            f"This account has {unfinished} {what}{('' if unfinished == 1 else 's')} waiting or "
            "running, the maximum. Try again when one has finished, or cancel one on its page.",
            field=field,
        )


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    if hours < 1:
        return f"{seconds / 60:g} minutes"
    return "an hour" if hours == 1 else f"{hours:g} hours"
