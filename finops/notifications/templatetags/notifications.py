"""The bell of every page."""

from __future__ import annotations

from django import template

from finops.notifications.queries import MOST_COUNTED, unread_count

register = template.Library()


@register.simple_tag(takes_context=True)
def unread_notifications(context: template.Context) -> str:
    """The number of the person's unread notifications, `99+` for many; empty for none. One query."""
    membership = context.get("membership")
    count = unread_count(membership) if membership is not None else 0
    if not count:
        return ""
    return f"{MOST_COUNTED - 1}+" if count >= MOST_COUNTED else str(count)
