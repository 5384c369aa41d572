"""Connections → Event sources: the list, the form for a new source, and a source's page with its key card."""

from __future__ import annotations

import dataclasses

from django.conf import settings
from django.db.models import Count, Max
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.source_pages import SourcePages
from finops.change_events.forms import EventSourceForm
from finops.change_events.models import ChangeEvent, EventKey, EventMonth, EventSource
from finops.change_events.services import keys, sources
from finops.change_events.snippets import event_snippets
from finops.change_events.source_panels import panels_of
from finops.change_events.views.events import EVENTS
from finops.change_events.views.push import PATH
from finops.lib.listing import Column, ListPage

RECENT = 20


@dataclasses.dataclass(frozen=True)
class EventSourceRow:
    """An event source in the list, with its active key."""

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
    return PAGES.new(request)


@account_page()
@require_safe
def source(request: AccountRequest, event_source_id: int) -> HttpResponse:
    return _source_page(request, _source_of(event_source_id))


@account_page(Role.MEMBER)
@require_POST
def rename(request: AccountRequest, event_source_id: int) -> HttpResponse:
    return PAGES.rename(request, event_source_id)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, event_source_id: int) -> HttpResponse:
    return PAGES.delete(request, event_source_id)


@account_page(Role.MEMBER)
@require_POST
def generate_key(request: AccountRequest, event_source_id: int) -> HttpResponse:
    return PAGES.generate(request, event_source_id)


@account_page(Role.MEMBER)
@require_POST
def regenerate_key(request: AccountRequest, event_source_id: int) -> HttpResponse:
    return PAGES.regenerate(request, event_source_id)


@account_page(Role.MEMBER)
@require_POST
def revoke_key(request: AccountRequest, event_source_id: int) -> HttpResponse:
    return PAGES.revoke(request, event_source_id)


def push_url() -> str:
    """The URL that programs send events to."""
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


PAGES = SourcePages(
    url_name="event_source",
    argument="event_source_id",
    list_url_name="event_sources",
    new_template="change_events/source_new.html",
    deleted_with="key and events",
    form=EventSourceForm,
    source_of=_source_of,
    source_page=_source_page,
    key_page=_key_page,
    create_source=sources.create_event_source,
    rename_source=sources.rename_event_source,
    delete_source=sources.delete_event_source,
    generate_key=keys.generate_event_key,
    regenerate_key=keys.regenerate_event_key,
    revoke_key=keys.revoke_event_key,
)
