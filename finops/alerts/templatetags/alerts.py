"""How templates write alerts."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from finops.alerts.models import AlertChannel
from finops.alerts.queries import Attempt, DeliveryRow, SubscriptionRow
from finops.alerts.queries.subscriptions import PERIOD_NOUNS
from finops.lib.formats.sentences import reader_text
from finops.templatetags.components import status_badge

register = template.Library()
_LABELS = {str(value): str(label) for value, label in AlertChannel.Kind.choices}


@register.filter
def kind_label(kind: str) -> str:
    return _LABELS.get(kind, kind)


@register.filter
def recipient_text(row: SubscriptionRow) -> str:
    """What a subscription is about, without its channel, in the reader's formats."""
    return reader_text(row.about.removesuffix(f", to {row.channel_name}"))


@register.filter
def attempt_result(attempt: Attempt | None) -> str:
    """`503 Busy`: what an attempt came to."""
    if attempt is None:
        return ""
    return " ".join(filter(None, [str(attempt.status_code or ""), attempt.answer]))


@register.filter
def delivery_badge(row: DeliveryRow) -> SafeString:
    """How a delivery stands; one that reached a part of its recipients says so."""
    is_partial = row.is_partial and row.status == "delivered"
    return status_badge("partial" if is_partial else row.status, "delivery")


@register.filter
def period_noun(frequency: str) -> str:
    """`week`: what a subscription measures."""
    return PERIOD_NOUNS.get(frequency, "")
