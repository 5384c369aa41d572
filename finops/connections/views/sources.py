"""The page of a cost source: its status, connection, months and imports; rename and delete."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.connections.links import ConnectionLinks
from finops.connections.models import CostConnection, SyncPeriod
from finops.connections.states import connection_state
from finops.connections.views.column_mappings import takes_any_columns
from finops.connections.views.cost_keys import key_context
from finops.costs import services
from finops.costs.completeness import settle_words
from finops.costs.dependants import deletion_impact_text
from finops.costs.forms import SettleDaysForm, SourceForm
from finops.costs.models import ColumnMapping, CostImport, CostSource
from finops.costs.queries.sources import load_sources
from finops.lib.listing import Column, csv_of, wants_csv

IMPORTS_PAGE = 25

IMPORT_COLUMNS: list[Column[CostImport]] = [
    Column("file", "File", lambda row: row.file_name),
    Column("state", "State", lambda row: row.status),
    Column("rows", "Rows", lambda row: row.rows),
    Column("months", "Months", lambda row: row.months),
    Column("created", "Uploaded", lambda row: row.created_at),
    Column("finished", "Finished", lambda row: row.finished_at),
    Column("by", "By", lambda row: row.actor_label),
    Column("error", "Error", lambda row: row.error),
]


@account_page()
@require_safe
def source(request: AccountRequest, source_id: int) -> HttpResponseBase:
    if wants_csv(request):
        row = get_object_or_404(CostSource.objects.all(), pk=source_id)
        rows = CostImport.objects.filter(source=row).defer("report")
        return csv_of(f"imports-{row.name}", IMPORT_COLUMNS, rows.iterator(chunk_size=500))
    return _source_page(request, source_id)


def _source_page(
    request: AccountRequest,
    source_id: int,
    form: SourceForm | None = None,
    settle_form: SettleDaysForm | None = None,
) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("created_by"), pk=source_id)
    imports = CostImport.objects.filter(source=row).select_related("source").defer("report")
    sources = load_sources(request.account)
    days = sources.coverage.days_of.get(row.pk)
    page = Paginator(imports, IMPORTS_PAGE).get_page(request.GET.get("page"))
    context = {
        "source": row,
        "health": sources.health[row.pk],
        "days": days,
        "complete_through": sources.coverage.last_complete_days.get(row.pk),
        "settle_words": settle_words(days) if days else "",
        "settle_form": settle_form or SettleDaysForm(initial={"settle_days": row.settle_days}),
        "form": form or SourceForm(initial={"name": row.name}),
        "going_with_it": partial(deletion_impact_text, row),
        "mapping": ColumnMapping.objects.filter(source=row).first(),
        "page": page,
        "pages": page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1),
        **_connection_context(row, days.provider if days else ""),
    }
    return render(request, "connections/source.html", context, status=422 if form or settle_form else 200)


def _connection_context(row: CostSource, provider: str) -> dict[str, object]:
    """Additional context for a source with a connection, or for one with uploads and pushes."""
    connection = CostConnection.objects.select_related("account", "source").filter(source=row).first()
    if connection is None:
        return {**key_context(row), "can_map": True}
    state = connection_state(connection)
    return {
        "connection": connection,
        "links": ConnectionLinks(connection.account.slug, connection),
        "can_map": takes_any_columns(connection),
        "state": state,
        "provider_icon": state.provider_icon(provider),
        "periods": list(SyncPeriod.objects.filter(connection=connection)),
    }


@account_page(Role.MEMBER)
@require_POST
def settle_days(request: AccountRequest, source_id: int) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    form = SettleDaysForm(request.POST)
    if form.is_valid():
        days = form.cleaned_data["settle_days"]
        services.change_settle_days(source=row, settle_days=days, actor=request.actor)
        messages.success(request, "Settle time saved. It applies to every page and answer.")
        return redirect("connection", slug=request.account.slug, source_id=source_id)
    return _source_page(request, source_id, settle_form=form)


@account_page(Role.MEMBER)
@require_POST
def rename(request: AccountRequest, source_id: int) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    form = SourceForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.rename_cost_source(source=row, name=form.cleaned_data["name"], actor=request.actor)
            messages.success(request, "Source renamed.")
            return redirect("connection", slug=request.account.slug, source_id=source_id)
    return _source_page(request, source_id, form)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, source_id: int) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    with ErrorMessages(request):
        services.delete_cost_source(source=row, actor=request.actor)
        messages.success(request, f"Source {row.name} deleted, with all its cost lines.")
        return redirect("connections", slug=request.account.slug)
    return redirect("connection", slug=request.account.slug, source_id=source_id)
