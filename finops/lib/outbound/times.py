"""Times in the headers of a response."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from finops.lib import clock


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of a Retry-After, a number or a date; 0 without a valid one."""
    text = _header(headers, "retry-after")
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = _moment(text)
    return max(0.0, (moment - clock.now()).total_seconds()) if moment else 0.0


def clock_skew(headers: Mapping[str, str]) -> float:
    """Return the seconds by which our clock is ahead of the response's Date (negative: behind); 0 without a valid one."""
    moment = _moment(_header(headers, "date"))
    return (clock.now() - moment).total_seconds() if moment else 0.0


def _header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.casefold() == name), "").strip()


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
