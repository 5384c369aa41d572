"""The input and the outcome of sending a message."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from finops.alerts.messages import Message

MAX_ANSWER: Final = 500

Verdict = Literal["delivered", "again", "failed"]


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A message to send. `delivery_id` and `created_at` are the same at every attempt. `arrived`: addresses with the
    message."""

    message: Message
    delivery_id: int
    account_slug: str
    account_name: str
    created_at: datetime
    arrived: tuple[str, ...] = ()
    unsubscribe_urls: dict[str, str] = msgspec.field(default_factory=dict)
    """Unsubscribe URLs by address."""


class DeliveryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an attempt. `again`: a retry may succeed, not before `wait` seconds if the receiver said so.
    `is_partial`: addresses of the channel were left out, which the answer names."""

    verdict: Verdict
    answer: str
    status_code: int | None = None
    wait: float = 0.0
    arrived: tuple[str, ...] = ()
    is_partial: bool = False


def one_line(text: str) -> str:
    """Replace line breaks and other control characters, which PostgreSQL's JSON and mail headers refuse."""
    return " ".join("".join(" " if not each.isprintable() else each for each in text).split())
