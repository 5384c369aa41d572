"""Rules shared by all jobs that a person starts and a worker runs: imports of cost and uploads of usage.

How long a job may take, how many jobs of an account may wait, and how a running job is canceled: the job checks between two
batches, since a thread cannot be ended from outside. For a job in a child process the parent checks the same, and ends the
child (`finops.lib.child_process`).

The process that runs a job holds a PostgreSQL lock (`finops.lib.advisory_lock`), which is released when the process dies, so that
another one can take over. If only the connection of the lock breaks, both processes continue; then `attempts`, which each attempt
increments, is the fencing token (`AttemptFence`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Final, Protocol

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet

from finops.lib import child_process
from finops.lib.child_process import ChildOutcome, ChildResult
from finops.lib.errors import UserError
from finops.lib.telemetry import metrics

UNFINISHED: Final = ("queued", "running")
CANCEL_GRACE_PERIOD: Final = timedelta(seconds=3)
"""A job checks for cancellation between two batches; one that has not stopped after this time is ended from outside."""


class JobCancellation(Exception):
    """A person canceled the job; the code that runs it stops and keeps what is committed."""


class JobRow(Protocol):
    """A row with `status` ("running"), `attempts` and `cancel_requested_at`."""

    @property
    def pk(self) -> Any: ...
    @property
    def attempts(self) -> int: ...


class AttemptFence:
    """Updates of the rows of one kind of job. `takeover` is raised for an attempt that no longer owns its job, `cancellation` once
    a person canceled the job."""

    def __init__(
        self,
        rows: Callable[[], QuerySet[Any]],
        *,
        takeover: type[Exception],
        cancellation: type[Exception] = JobCancellation,
    ) -> None:
        self._rows, self._takeover, self._cancellation = rows, takeover, cancellation

    def row(self, job: JobRow) -> QuerySet[Any]:
        """Return the row while this attempt runs the job; no row once the job was taken over, deleted or ended."""
        return self._rows().filter(pk=job.pk, status="running", attempts=job.attempts)

    def update(self, job: JobRow, **values: object) -> None:
        """Update the row. Raises `takeover` unless this attempt owns it."""
        if not self.row(job).update(**values):
            raise self._takeover(f"{type(job).__name__} {job.pk} is no longer run by attempt {job.attempts}")

    def update_running(self, job: JobRow, **values: object) -> None:
        """Update the row. Raises `takeover` as `update` does, and `cancellation`."""
        if not self.row(job).filter(cancel_requested_at=None).update(**values):
            self.update(job, **values)
            raise self._cancellation

    def lock(self, job: JobRow) -> None:
        """Lock the row until the end of the transaction. Raises `takeover` unless this attempt owns it."""
        if not list(self.row(job).select_for_update().values_list("pk", flat=True)):
            raise self._takeover(f"{type(job).__name__} {job.pk} is no longer run by attempt {job.attempts}")


@contextmanager
def count_outcome(counter: metrics.Counter, rows: QuerySet[Any]) -> Iterator[None]:
    """Count the outcome of the job in `rows` by `status`, unless the job is unfinished. Called in the worker, since a child
    that reads files counts nothing. Cost: one query a job where metrics are on."""
    try:
        yield
    finally:
        if metrics.directory() is not None:
            with suppress(DatabaseError):
                status = rows.values_list("status", flat=True).first()
                if status is not None and status not in UNFINISHED:
                    counter.inc(status)


class JobDeadline:
    """The deadline of one attempt at a job, starting now; `end` is a time of `time.monotonic()`."""

    def __init__(self) -> None:
        self.end = time.monotonic() + settings.JOB_MAX_SECONDS

    def check(self, what: str) -> None:
        """Raise UserError once the attempt of `what` ("import") has taken longer than a job may."""
        if time.monotonic() > self.end:
            raise UserError(_too_long(what))


def failure_in_child(result: ChildResult, what: str, *, place: str, is_last: bool) -> str:
    """Return, in a sentence, why a job ("import") fails after its child ended like this at a stage ("while reading"). Empty
    where the job does not fail: it is done or no longer wanted, or its child died and another attempt follows (not
    `is_last`)."""
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
    """Return the message for an unexpected error, whose traceback is in the log: "The sync failed with an internal error;
    existing data is kept."."""
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
    """Raise UserError when an account has too many `unfinished` jobs ("import") to start another."""
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
