"""Connections → Event sources: the list, a new one, and a source's page with its key card."""

from __future__ import annotations

import dataclasses

from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Max
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.doors import AccountRequest, account_page
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from finops.change_events.forms import EventSourceForm
from finops.change_events.models import ChangeEvent, EventKey, EventMonth, EventSource
from finops.change_events.services import keys, sources
from finops.change_events.snippets import event_snippets
from finops.change_events.source_panels import panels_of
from finops.change_events.views.events import EVENTS
from finops.change_events.views.push import PATH
from finops.lib.listing import Column, ListPage
from finops.lib.params import id_of

RECENT = 20


@dataclasses.dataclass(frozen=True)
class EventSourceRow:
    """An event source as the list shows it, with its living key."""

    source: EventSource
    key: EventKey | None
    events: int
    newest: object


SOURCES = ListPage[EventSourceRow](
    name="event-sources",
    title="Event sources",
    noun="event source",
    order="name",
    columns=[
        Column("name", "Source", lambda row: row.source.name),
        Column("kind", "Kind", lambda row: row.source.get_kind_display(), css="nowrap"),
        Column("key", "API key", lambda row: row.key.masked_key if row.key else None),
        Column("used", "Last used", lambda row: row.key.last_used_at if row.key else None, css="nowrap"),
        Column("events", "Events", lambda row: row.events, numeric=True),
        Column("newest", "Last event", lambda row: row.newest, css="nowrap"),
    ],
)


@account_page()
@require_safe
@never_cache
def index(request: AccountRequest) -> HttpResponseBase:
    living = {key.source_id: key for key in EventKey.objects.filter(revoked_at=None)}
    counted = EventSource.objects.annotate(event_count=Count("events"), newest=Max("events__occurred_at"))
    rows = [
        EventSourceRow(source, living.get(source.pk), source.event_count, source.newest) for source in counted
    ]
    return SOURCES.response(request, rows, "change_events/sources.html")


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = EventSourceForm(request.POST or None)
    if form.is_valid():
        with FormErrors(form):
            row = sources.create_event_source(
                account=request.account, actor=request.actor, name=form.cleaned_data["name"]
            )
            return redirect("event_source", slug=request.account.slug, event_source_id=row.pk)
    status = 422 if form.is_bound or request.method == "POST" else 200
    return render(request, "change_events/source_new.html", {"form": form}, status=status)


@account_page()
@require_safe
@never_cache
def source(request: AccountRequest, event_source_id: int) -> HttpResponse:
    return _source_page(request, _source_of(event_source_id))


@account_page(Role.MEMBER)
@require_POST
def rename(request: AccountRequest, event_source_id: int) -> HttpResponse:
    row, form = _source_of(event_source_id), EventSourceForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            sources.rename_event_source(source=row, actor=request.actor, name=form.cleaned_data["name"])
            messages.success(request, "Source renamed.")
            return redirect("event_source", slug=request.account.slug, event_source_id=row.pk)
    return _source_page(request, _source_of(event_source_id), form=form, status=422)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, event_source_id: int) -> HttpResponse:
    row = _source_of(event_source_id)
    with ErrorMessages(request):
        sources.delete_event_source(source=row, actor=request.actor)
        messages.success(request, f"Source {row.name} deleted with its key and events.")
    return redirect("event_sources", slug=request.account.slug)


@account_page(Role.MEMBER)
@require_POST
@never_cache
def generate_key(request: AccountRequest, event_source_id: int) -> HttpResponse:
    """The answer shows the key: the one place where its plaintext ever is. A reload is refused, not repeated."""
    row = _source_of(event_source_id)
    with ErrorMessages(request):
        key, plaintext = keys.generate_event_key(source=row, actor=request.actor)
        return _key_page(request, row, key, plaintext)
    return redirect("event_source", slug=request.account.slug, event_source_id=row.pk)


@account_page(Role.MEMBER)
@require_POST
@never_cache
def regenerate_key(request: AccountRequest, event_source_id: int) -> HttpResponse:
    """As on generating. The form names the key that it replaces, so a reload replaces no second one."""
    row = _source_of(event_source_id)
    text = request.POST.get("replaces", "")
    replaces = (id_of(text) or 0) if text else None  # 0 is no key's
    with ErrorMessages(request):
        key, plaintext = keys.regenerate_event_key(source=row, actor=request.actor, replaces=replaces)
        return _key_page(request, row, key, plaintext)
    return redirect("event_source", slug=request.account.slug, event_source_id=row.pk)


@account_page(Role.MEMBER)
@require_POST
def revoke_key(request: AccountRequest, event_source_id: int) -> HttpResponse:
    row = _source_of(event_source_id)
    with ErrorMessages(request):
        keys.revoke_event_key(source=row, actor=request.actor)
        messages.success(request, "Key revoked.")
    return redirect("event_source", slug=request.account.slug, event_source_id=row.pk)


def push_url() -> str:
    """Where programs send their events."""
    return f"{settings.PUBLIC_URL}{PATH}"


def _source_of(event_source_id: int) -> EventSource:
    """The source of the account in scope; 404 for another's."""
    return get_object_or_404(EventSource.objects.select_related("account", "created_by"), pk=event_source_id)


def _source_page(
    request: AccountRequest, row: EventSource, *, form: EventSourceForm | None = None, status: int = 200
) -> HttpResponse:
    events = ChangeEvent.objects.filter(source=row).select_related("source")
    context = {
        "source": row,
        "key": EventKey.objects.filter(source=row, revoked_at=None).first(),
        "is_push": row.kind == EventSource.Kind.PUSH,
        "panels": panels_of(row),
        "push_url": push_url(),
        "form": form or EventSourceForm(initial={"name": row.name}),
        "event_count": events.count(),
        "listing": EVENTS.table(list(events[:RECENT])),
        "months": list(EventMonth.objects.filter(source=row)[:1]),
    }
    return render(request, "change_events/source.html", context, status=status)


def _key_page(request: AccountRequest, row: EventSource, key: EventKey, plaintext: str) -> HttpResponse:
    context = {
        "source": row,
        "key": key,
        "plaintext": plaintext,
        "snippets": event_snippets(push_url(), plaintext),
    }
    return render(request, "change_events/key_shown.html", context)
