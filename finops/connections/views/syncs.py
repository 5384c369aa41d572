"""Syncs of a source: the list, the page of one with its progress; start, cancel and pause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.connections import services
from finops.connections.connector import Contents
from finops.connections.links import ConnectionLinks
from finops.connections.models import UNFINISHED_STATUSES, CostConnection, CostSync
from finops.connections.progress import empty_months, progress_of
from finops.connections.queries import sync_detail
from finops.lib import clock
from finops.lib.listing import Column, ListFilter, ListPage

SYNCS_LISTED = 1_000
"""The newest syncs of a source in the list; hourly checks make as many in six weeks."""

SYNCS = ListPage[CostSync](
    name="syncs",
    title="Syncs",
    noun="sync",
    page_rows=25,
    order="-started",
    columns=[
        Column("started", "Started", lambda row: row.started_at or row.created_at, css="nowrap"),
        Column("trigger", "Trigger", lambda row: row.get_trigger_display()),
        Column("status", "Status", lambda row: row.status),
        Column("imported", "Imported", lambda row: row.months_imported, numeric=True),
        Column("unchanged", "Unchanged", lambda row: row.months_unchanged, numeric=True),
        Column("failed", "Failed", lambda row: row.months_failed, numeric=True),
        Column("rows", "Rows", lambda row: row.rows, numeric=True),
        Column("bytes", "Read", lambda row: row.bytes_done, numeric=True, css="nowrap"),
        Column("duration", "Seconds", lambda row: seconds_of(row), numeric=True, css="nowrap"),
        Column("by", "By", lambda row: row.actor_label, shown=False),
        Column("error", "Error", lambda row: row.error, shown=False),
    ],
    filters=[
        ListFilter("state", "Status", "All statuses", CostSync.SyncStatus.choices, lambda row: row.status)
    ],
)


def seconds_of(sync: CostSync) -> Decimal | None:
    """Duration to a tenth of a second, at least one second; None before the end."""
    if sync.started_at is None or sync.finished_at is None:
        return None
    seconds = (sync.finished_at - sync.started_at).total_seconds()
    return max(Decimal(f"{seconds:.1f}"), Decimal("0.1"))


_FIELDS: Final = {
    "synced_source_id": "source",
    "pulled_source_id": "usage_source",
    "pulled_event_source_id": "event_source",
}
"""The field of a connection by the kind of source in a URL."""


def connection_of(source_id: Mapping[str, int]) -> CostConnection:
    """The connection of the source in the URL, in the account's scope; 404 for a source with uploads or pushes."""
    rows = CostConnection.objects.select_related("source", "usage_source", "event_source", "account")
    return get_object_or_404(rows, **{_FIELDS[name]: value for name, value in source_id.items()})


@account_page()
@require_safe
def index(request: AccountRequest, /, **source_id: int) -> HttpResponseBase:
    connection = connection_of(source_id)
    rows = CostSync.objects.filter(connection=connection).defer("periods")[:SYNCS_LISTED]
    links = ConnectionLinks(request.account.slug, connection)
    context = {"source": connection.target, "connection": connection, "links": links}
    return SYNCS.response(request, rows, "connections/syncs.html", context)


@account_page()
@require_safe
def sync(request: AccountRequest, sync_id: int) -> HttpResponse:
    """The progress of a sync, and its result. htmx polls every second until the end."""
    rows = CostSync.objects.select_related(
        "connection__source", "connection__usage_source", "connection__event_source"
    )
    row = get_object_or_404(rows, pk=sync_id)
    detail, source = sync_detail(row), row.connection.target
    is_unfinished = row.status in UNFINISHED_STATUSES
    heading, progress = _heading(row), progress_of(row, clock.now())
    context = {
        "sync": row,
        "source": source,
        "connection": row.connection,
        "links": ConnectionLinks(request.account.slug, row.connection),
        "is_unfinished": is_unfinished,
        "heading": heading,
        "announcement": f"{heading}. {progress.text}" if is_unfinished else f"{heading}. {row.error}",
        "progress": progress,
        "seconds": detail.seconds,
        "periods": detail.periods,
        "empty_months": empty_months(row),
        "explore_url": _explore_url(request, row.connection),
    }
    return render(request, "connections/_sync.html" if request.htmx else "connections/sync.html", context)


def _heading(row: CostSync) -> str:
    """The current step of a sync, or its result."""
    if row.status == CostSync.SyncStatus.QUEUED:
        return "Waiting for a worker"
    if row.status == CostSync.SyncStatus.RUNNING:
        stage = row.stage[:1].upper() + row.stage[1:]
        return "Canceling" if row.cancel_requested_at else stage or "Listing"
    empty = empty_months(row)
    if row.months_imported:
        imported = f"{row.months_imported} month{'' if row.months_imported == 1 else 's'} imported"
        return f"{imported}, {empty} without data" if empty else imported
    if empty:
        return f"{empty} month{'' if empty == 1 else 's'} without data"
    if row.status == CostSync.SyncStatus.DONE:
        return "No change" if row.months_listed else "No data yet"
    return "Nothing was imported"


def _explore_url(request: AccountRequest, connection: CostConnection) -> str:
    if connection.contents == Contents.USAGE:
        return reverse("usage", args=[request.account.slug])
    if connection.contents == Contents.CHANGE_EVENTS:
        return f"{reverse('change_events', args=[request.account.slug])}?{urlencode({'source': connection.target_id})}"
    query = {"period": "last_12_months", "granularity": "month", "group_by": "service"}
    filters = {"f0": "source", "f0op": "in", "f0v": connection.target.name}
    return f"{reverse('cost_explorer', args=[request.account.slug])}?{urlencode({**query, **filters})}"


@account_page(Role.MEMBER)
@require_POST
def start(request: AccountRequest, /, **source_id: int) -> HttpResponse:
    """Start a sync; if one is queued or running, show that one."""
    connection = connection_of(source_id)
    with ErrorMessages(request):
        row = services.queue_sync(connection=connection, actor=request.actor)
        return redirect("cost_sync", slug=request.account.slug, sync_id=row.pk)
    return redirect(ConnectionLinks(request.account.slug, connection).source)


@account_page(Role.MEMBER)
@require_POST
def cancel(request: AccountRequest, sync_id: int) -> HttpResponse:
    row = get_object_or_404(CostSync.objects.select_related("account"), pk=sync_id)
    with ErrorMessages(request):
        services.cancel_sync(sync=row, actor=request.actor)
    return redirect("cost_sync", slug=request.account.slug, sync_id=sync_id)


@account_page(Role.MEMBER)
@require_POST
def pause(request: AccountRequest, /, **source_id: int) -> HttpResponse:
    connection = connection_of(source_id)
    return _change(request, connection, services.pause_connection, "Syncs paused.")


@account_page(Role.MEMBER)
@require_POST
def resume(request: AccountRequest, /, **source_id: int) -> HttpResponse:
    connection = connection_of(source_id)
    return _change(request, connection, services.resume_connection, "Syncs resumed.")


def _change(
    request: AccountRequest, connection: CostConnection, change: Callable[..., Any], success: str
) -> HttpResponse:
    with ErrorMessages(request):
        change(connection=connection, actor=request.actor)
        messages.success(request, success)
    return redirect(ConnectionLinks(request.account.slug, connection).source)
