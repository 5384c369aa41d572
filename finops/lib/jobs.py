"""What holds for every job that a person starts and a worker does: imports of cost and uploads of usage.

How long one may take, how many of an account may wait, and how one is canceled while it runs: it looks between two
batches, since a thread cannot be ended from outside. Who runs a job in a child process asks the same, and ends the child.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final

from django.conf import settings

from finops.lib.errors import UserError

SEES_CANCEL: Final = timedelta(seconds=3)
"""A job looks between two batches; one that has not after so long is ended from outside."""


class Canceled(Exception):
    """A person canceled the job; whoever runs it stops and leaves what is committed."""


class Clock:
    """Of one attempt at a job, from now on."""

    def __init__(self) -> None:
        self._end = time.monotonic() + settings.JOB_MAX_SECONDS

    def check(self, what: str) -> None:
        """Raise UserError once the attempt of `what` ("import") has taken longer than a job may."""
        if self.is_over:
            raise UserError(self.sentence(what))

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._end

    def sentence(self, what: str) -> str:
        return (
            f"The {what} took longer than {_hours(settings.JOB_MAX_SECONDS)} and was stopped. Split the file and send its "
            "parts one after another, or ask whoever runs this console for a longer limit."
        )


def check_room(unfinished: int, what: str, *, field: str) -> None:
    """Raise UserError when `unfinished` of an account's jobs ("import") leave no room for another."""
    if unfinished >= settings.JOBS_PER_ACCOUNT:
        raise UserError(
            f"This account has {unfinished} {what}{'' if unfinished == 1 else 's'} waiting or running, which is the most "
            "at once. Wait until one is done, or cancel one on its page, and send this again.",
            field=field,
        )


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    if hours < 1:
        return f"{seconds / 60:g} minutes"
    return "an hour" if hours == 1 else f"{hours:g} hours"
