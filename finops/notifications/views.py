"""Notifications: the list, the newest ones at the bell, opening one, and marking all as read. Each person's read marks are
their own, whatever the role."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST, require_safe

from accounts.limits import limit_of
from accounts.page_access import AccountRequest, account_page
from finops.lib import clock
from finops.lib.listing import Column, ListFilter, ListPage
from finops.notifications import services
from finops.notifications.models import Notification
from finops.notifications.queries import notifications_of, unread_count

MOST_ROWS = 5_000
NEWEST = 8
"""Rows of the bell's popover."""

NOTIFICATIONS = ListPage[Notification](
    name="notifications",
    title="Notifications",
    noun="notification",
    order="-created",
    page_rows=50,
    filters=[
        ListFilter("kind", "Kind", "All kinds", Notification.Kind.choices, lambda row: row.kind),
        ListFilter(
            "state", "State", "All states", [("unread", "Unread"), ("read", "Read")], lambda row: _state(row)
        ),
    ],
    columns=[
        Column("title", "Notification", lambda row: row.title),
        Column("text", "Text", lambda row: row.text, shown=False),
        Column("kind", "Kind", lambda row: row.get_kind_display(), css="nowrap"),
        Column("severity", "Severity", lambda row: row.get_severity_display(), shown=False),
        Column("state", "State", lambda row: _state(row).capitalize(), shown=False),
        Column("created", "Received", lambda row: row.created_at, css="nowrap"),
    ],
)


def _state(row: Notification) -> str:
    return "read" if getattr(row, "is_read", False) else "unread"


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    rows = list(notifications_of(request.membership)[:MOST_ROWS])
    context = {
        "unread": sum(_state(row) == "unread" for row in rows),
        "until": clock.now().isoformat(),
        "retention_days": limit_of(request.account, "NOTIFICATION_DAYS"),
    }
    return NOTIFICATIONS.response(request, rows, "notifications/notifications.html", context)


@account_page()
@require_safe
def newest(request: AccountRequest) -> HttpResponse:
    """Return the bell's popover, loaded when it opens. Two queries."""
    return _newest(request)


def _newest(request: AccountRequest, *, all_read: bool = False) -> HttpResponse:
    context = {
        "rows": notifications_of(request.membership)[:NEWEST],
        "unread": unread_count(request.membership),
        "until": clock.now().isoformat(),
        "all_read": all_read,
    }
    return render(request, "notifications/_newest.html", context)


@account_page()
@require_POST
def open_one(request: AccountRequest, notification_id: int) -> HttpResponse:
    """Mark the notification as read and redirect to its page."""
    row = get_object_or_404(notifications_of(request.membership), pk=notification_id)
    services.mark_read(notification=row, user=request.user)
    return redirect(row.path)


@account_page()
@require_POST
def read_all(request: AccountRequest) -> HttpResponse:
    """Mark the notifications of the page or popover as read: `until` is when it was rendered."""
    until = _moment(request.POST.get("until", "")) or clock.now()
    services.mark_all_read(account=request.account, user=request.user, until=until)
    if request.htmx:
        return _newest(request, all_read=True)
    messages.success(request, "All notifications marked as read.")
    return redirect("notifications", slug=request.account.slug)


def _moment(text: str) -> datetime | None:
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
