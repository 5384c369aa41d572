"""Send one message to one target. Each kind has a module, which returns the outcome and never raises for a bad
answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from finops.alerts.channel_targets import Kind, Target
from finops.alerts.senders import email, microsoft_teams, pagerduty, slack, webhook
from finops.alerts.senders.outcome import DeliveryOutcome, Envelope

_SENDERS: Mapping[str, Callable[[Any, Envelope], DeliveryOutcome]] = {
    Kind.SLACK: slack.send,
    Kind.MICROSOFT_TEAMS: microsoft_teams.send,
    Kind.EMAIL: email.send,
    Kind.PAGERDUTY: pagerduty.send,
    Kind.WEBHOOK: webhook.send,
}


def send(kind: str, target: Target, envelope: Envelope) -> DeliveryOutcome:
    """Send the message now, within 10 s (email: 10 s for each answer of the mail server)."""
    return _SENDERS[kind](target, envelope)


__all__ = ["DeliveryOutcome", "Envelope", "send"]
