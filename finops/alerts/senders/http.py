"""Posting JSON, and what a receiver's answer means."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec
from django.conf import settings

from finops.alerts.channels import Target, redacted
from finops.alerts.senders.outcome import MAX_ANSWER, Outcome, one_line
from finops.lib import clock
from finops.lib.outbound import Answer, NoAnswer, Refused, post
from finops.lib.spoken import cut

_AGAIN: Final = frozenset({408, 409, 425, 429})
"""And 5xx. Another 4xx says that the request itself is wrong, which another time would not mend."""


def post_json(url: str, value: Any, target: Target) -> Outcome:
    return post_bytes(url, msgspec.json.encode(value), {}, target)


def post_bytes(url: str, body: bytes, headers: Mapping[str, str], target: Target) -> Outcome:
    said = {"Content-Type": "application/json; charset=utf-8", **headers}
    try:
        answer = post(url, body=body, headers=said, seconds=settings.ALERT_SEND_SECONDS)
    except NoAnswer as error:
        return Outcome(verdict="again", answer=redacted(str(error), target))
    except Refused as error:
        return Outcome(verdict="failed", answer=redacted(error.message, target))
    return judged(answer, target)


def judged(answer: Answer, target: Target) -> Outcome:
    said = cut(redacted(one_line(answer.body.decode(errors="replace")), target), MAX_ANSWER)
    status = answer.status
    if 200 <= status < 300:
        return Outcome(verdict="delivered", status_code=status, answer=said)
    if status in _AGAIN or status >= 500:
        return Outcome(verdict="again", status_code=status, answer=said, wait=_wait(answer.headers))
    return Outcome(verdict="failed", status_code=status, answer=_why(status) or said)


def _why(status: int) -> str:
    if 300 <= status < 400:
        return "The receiver redirects, and redirects are not followed. Enter the address it leads to."
    return "The receiver says that this address is gone for good." if status == 410 else ""


def _wait(headers: Mapping[str, str]) -> float:
    """Seconds of a Retry-After, whole or a date; 0 without one that can be read."""
    said = next((value for name, value in headers.items() if name.casefold() == "retry-after"), "").strip()
    if said.isascii() and said.isdigit():
        return float(said[:9])
    try:
        moment = parsedate_to_datetime(said)
    except (ValueError, TypeError):
        return 0.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - clock.now()).total_seconds())
