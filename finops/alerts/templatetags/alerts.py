"""Template filters and tags for alerts."""

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
    """Describe a subscription without its channel, in the reader's formats."""
    return reader_text(row.about.removesuffix(f", to {row.channel_name}"))


@register.filter
def attempt_result(attempt: Attempt | None) -> str:
    """Format the result of an attempt: `503 Busy`."""
    if attempt is None:
        return ""
    return " ".join(filter(None, [str(attempt.status_code or ""), attempt.answer]))


@register.filter
def delivery_badge(row: DeliveryRow) -> SafeString:
    """Return the badge of a delivery's status; a partly delivered one says so."""
    is_partial = row.is_partial and row.status == "delivered"
    return status_badge("partial" if is_partial else row.status, "delivery")


@register.filter
def period_noun(frequency: str) -> str:
    """Return the noun of the period that a subscription measures: `week`."""
    return PERIOD_NOUNS.get(frequency, "")
