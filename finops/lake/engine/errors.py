"""Errors of questions to the lake."""

from __future__ import annotations

import time
from typing import Final

from finops.lib.errors import UserError

NARROW_ADVICE: Final = "Use fewer days, fewer or coarser dimensions, or a filter."


class LakeTimeout(UserError):
    """The query reached its deadline and was stopped."""

    outcome = "timeout"


class LakeBusy(LakeTimeout):
    """The deadline passed while other queries used the cores."""

    outcome = "busy"


class LakeTooLarge(UserError):
    """The query needs more memory and disk than one query may use, or its sums have more digits than the type holds."""

    outcome = "too_large"


class LakeUnavailable(UserError):
    """A stored file cannot be read, through no fault of the caller; the log names the file."""

    outcome = "unavailable"


class UnreadableFile(Exception):
    """A file of the manifest is missing or damaged."""


def check_deadline(deadline: float) -> None:
    """Raises LakeTimeout once `deadline` (monotonic seconds) has passed."""
    if time.monotonic() >= deadline:
        raise LakeTimeout(f"The query timed out. {NARROW_ADVICE}")
