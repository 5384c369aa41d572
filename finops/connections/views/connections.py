"""The Connections page: every cost source with its type of delivery and its status."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.connections.catalog import connector_groups
from finops.connections.states import ConnectionState, connection_states
from finops.costs import services
from finops.costs.answers import SourceHealth
from finops.costs.forms import OverlapForm
from finops.costs.models import CostImport
from finops.costs.queries.import_notices import import_notices
from finops.costs.queries.sources import FAILING, HEALTHY, load_sources
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListFilter, ListPage, wants_csv

IMPORTS_SHOWN = 10
UPLOAD = "Upload"


@dataclasses.dataclass(frozen=True)
class SourceRow:
    """A cost source in the list; `state` is None for a source with uploaded files."""

    id: int
    health: SourceHealth
    state: ConnectionState | None
    provider: str
    """The provider named by its cost lines; empty without any."""

    @property
    def kind(self) -> str:
        return self.state.kind(self.provider) if self.state else UPLOAD

    @property
    def icon(self) -> str:
        return self.state.provider_icon(self.provider) if self.state else "upload"

    @property
    def status(self) -> str:
        """The status of the connection while it is not healthy, or else that of its data."""
        if self.state is not None and (self.state.status != HEALTHY or self.state.last_sync_at is None):
            return self.state.status
        return self.health.status

    @property
    def last_at(self) -> datetime | None:
        return self.state.last_sync_at if self.state else self.health.last_import_at

    @property
    def next_at(self) -> datetime | None:
        return self.state.overview.next_sync_at if self.state else None

    @property
    def problem(self) -> str:
        """Why the newest sync or import failed."""
        if self.state is not None and self.state.last_error:
            return self.state.last_error
        return self.health.last_error or self.health.reason if self.health.status == FAILING else ""

    @property
    def note(self) -> str:
        """Why the source is not healthy."""
        is_of_data = self.status == self.health.status and self.status not in (HEALTHY, FAILING)
        return self.health.reason if is_of_data else self.problem

    @property
    def last_day(self) -> date | None:
        return self.health.last_day


SOURCES = ListPage[SourceRow](
    name="connections",
    title="Cost sources",
    noun="source",
    order="name",
    columns=[
        Column("name", "Source", lambda row: row.health.name),
        Column("kind", "Kind", lambda row: row.kind, shown=False),
        Column("status", "Status", lambda row: row.status),
        Column("from", "Data from", lambda row: row.health.first_day, shown=False),
        Column("through", "Data through", lambda row: row.last_day, css="nowrap"),
        Column("rows", "Rows", lambda row: row.health.rows, numeric=True),
        Column("last", "Last sync", lambda row: row.last_at, format="ago"),
        Column("next", "Next sync", lambda row: row.next_at),
        Column("problem", "Last error", lambda row: row.problem, shown=False),
    ],
    filters=[
        ListFilter(
            "state",
            "Status",
            "All statuses",
            [("failing", "Failing"), ("late", "Late"), ("paused", "Paused"), ("syncing", "Syncing")],
            lambda row: row.status,
        )
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    states = connection_states(request.account)
    sources = load_sources(request.account)
    days = sources.coverage.days_of
    rows = [
        SourceRow(pk, health, states.get(pk), days[pk].provider if pk in days else "")
        for pk, health in sources.health.items()
    ]
    shown = SOURCES.listing(request, rows)
    if wants_csv(request):
        return SOURCES.csv(shown.matches)
    imports = CostImport.objects.select_related("source").defer("report")[:IMPORTS_SHOWN]
    context = {
        "listing": shown,
        "imports": imports,
        "notices": import_notices(request.account),
        "groups": [] if rows else connector_groups(),
    }
    return render(request, "connections/connections.html", context)


@account_page(Role.MEMBER)
@require_POST
def dismiss_overlap(request: AccountRequest) -> HttpResponse:
    form = OverlapForm(request.POST)
    with ErrorMessages(request):
        if not form.is_valid():
            raise UserError("Choose the overlap to dismiss.")
        services.dismiss_overlap(account=request.account, actor=request.actor, **form.cleaned_data)
        messages.success(request, "Overlap dismissed. Overlaps of other months are still shown.")
    return redirect("connections", slug=request.account.slug)
