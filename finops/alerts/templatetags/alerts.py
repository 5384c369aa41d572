"""How templates write alerts."""

from __future__ import annotations

from django import template

from finops.alerts.models import AlertChannel
from finops.alerts.queries import Attempt, SubscriptionRow

register = template.Library()
_LABELS = {str(value): str(label) for value, label in AlertChannel.Kind.choices}


@register.filter
def kind_label(kind: str) -> str:
    return _LABELS.get(kind, kind)


@register.filter
def recipient_text(row: SubscriptionRow) -> str:
    """What a subscription is about, without its channel."""
    return row.about.removesuffix(f", to {row.channel_name}")


@register.filter
def attempt_result(attempt: Attempt | None) -> str:
    """`503 Busy`: what an attempt came to."""
    if attempt is None:
        return ""
    return " ".join(filter(None, [str(attempt.status_code or ""), attempt.answer]))
