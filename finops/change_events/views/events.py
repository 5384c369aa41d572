"""Change events: the list of all, with filters and CSV."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.change_events.forms import ChangeEventRetentionForm
from finops.change_events.models import ChangeEvent
from finops.change_events.queries import listed_events, visible_events, visible_sources
from finops.change_events.schemas import origin_of
from finops.change_events.services.retention import retention_days, set_change_event_retention
from finops.change_events.views.notes import may_change
from finops.lib.listing import Column, ListFilter, ListPage, wants_csv

PAGE = 50


def scope_texts(event: ChangeEvent) -> list[str]:
    """Return the scope of an event as texts, one for each dimension: `service: Amazon EC2, Amazon S3`."""
    return [f"{name}: {', '.join(values)}" for name, values in event.scope.items()]


EVENTS = ListPage[ChangeEvent](
    name="change-events",
    title="Change events",
    noun="event",
    order="-occurred_at",
    columns=[
        Column("occurred_at", "Time", lambda event: event.occurred_at, css="nowrap"),
        Column("kind", "Kind", lambda event: event.get_kind_display(), css="nowrap", sortable=False),
        Column(
            "title",
            "Event",
            lambda event: event.title,
            css="cell-name cell-event",
            sortable=False,
            row_header=True,
        ),
        Column("actor", "Actor", lambda event: event.actor or None, css="cell-break", sortable=False),
        Column("scope", "Scope", scope_texts, css="cell-break small", sortable=False),
        Column("source", "Source", origin_of, css="cell-break", sortable=False),
        Column("url", "Link", lambda event: event.url or None, shown=False, sortable=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return _page(request, ChangeEventRetentionForm(request.account, days=retention_days()))


@account_page(Role.ADMIN)
@require_POST
def retention(request: AccountRequest) -> HttpResponseBase:
    """Show and change the retention. Only for admins, since it deletes events for the whole account."""
    form = ChangeEventRetentionForm(request.account, request.POST)
    if form.is_valid():
        with FormErrors(form):
            row = set_change_event_retention(
                account=request.account, actor=request.actor, days=form.cleaned_data["days"]
            )
            messages.success(request, f"Change events are now kept for {row.days:,} days.")
            return redirect("change_events", slug=request.account.slug)
    return _page(request, form, status=422)


def _page(request: AccountRequest, form: ChangeEventRetentionForm, *, status: int = 200) -> HttpResponseBase:
    params = request.GET
    events = listed_events(
        kind=params.get("kind", ""), origin=params.get("source", ""), search=params.get("q", "")
    )
    if params.get("sort") == "occurred_at":
        events = events.order_by("occurred_at", "id")
    if wants_csv(request):
        return EVENTS.csv(events.iterator(chunk_size=500))
    sources = [(str(source.pk), source.name) for source in visible_sources()]
    origins = [
        (value, label) for value, label in ChangeEvent.Origin.choices if value != ChangeEvent.Origin.SOURCE
    ]
    declared = replace(
        EVENTS,
        filters=[
            ListFilter("kind", "Kind", "All kinds", ChangeEvent.Kind.choices),
            ListFilter("source", "Source", "All sources", [*sources, *origins]),
        ],
    )
    page = Paginator(events, PAGE).get_page(params.get("page"))
    listing = declared.listing_of_page(request, page)
    if not listing.total and visible_events().exists():
        listing = replace(listing, total=1)  # the account has events, but none matches
    editable = {event.pk for event in page if may_change(request, event)}
    context = {"listing": listing, "editable": editable, "form": form}
    return render(request, "change_events/events.html", context, status=status)
