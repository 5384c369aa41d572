"""Connections → Data exports: the list, an export's page with its months and runs, and running, pausing and deleting it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.data_exports.models import DataExport, DataExportMonth, DataExportRun
from finops.data_exports.queries import RUNS_SHOWN, ExportState, export_state, export_states
from finops.data_exports.services import exports as services
from finops.data_exports.services.runs import cancel_run, queue_run
from finops.lib.listing import Column, ListPage

EXPORTS = ListPage[ExportState](
    name="data-exports",
    title="Data exports",
    noun="data export",
    order="name",
    columns=[
        Column("name", "Export", lambda row: row.export.name),
        Column("status", "Status", lambda row: row.status),
        Column("schedule", "Schedule", lambda row: row.export.get_schedule_display(), css="nowrap"),
        Column("last", "Last success", lambda row: row.export.last_success_at, css="nowrap"),
        Column("rows", "Rows", lambda row: row.rows if row.export.last_success_at else None, numeric=True),
        Column("bytes", "Size", lambda row: row.bytes, numeric=True, css="nowrap"),
        Column("error", "Error", lambda row: row.last_error, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return EXPORTS.response(request, export_states(request.account), "data_exports/exports.html")


@account_page()
@require_safe
def export(request: AccountRequest, data_export_id: int) -> HttpResponse:
    row = export_of(data_export_id)
    state = export_state(row)
    context = {
        "export": row,
        "state": state,
        "months": list(DataExportMonth.objects.filter(export=row)),
        "runs": [(each, seconds_of(each)) for each in DataExportRun.objects.filter(export=row)[:RUNS_SHOWN]],
    }
    return render(request, "data_exports/export.html", context)


@account_page(Role.ADMIN)
@require_POST
def run(request: AccountRequest, data_export_id: int) -> HttpResponse:
    row = export_of(data_export_id)
    with ErrorMessages(request):
        queue_run(export=row, actor=request.actor)
        messages.success(request, "Run queued.")
    return redirect("data_export", slug=request.account.slug, data_export_id=row.pk)


@account_page(Role.MEMBER)
@require_POST
def cancel(request: AccountRequest, run_id: int) -> HttpResponse:
    row = get_object_or_404(DataExportRun.objects.select_related("account"), pk=run_id)
    with ErrorMessages(request):
        run = cancel_run(run=row, actor=request.actor)
        messages.success(request, "The run is being canceled." if run.is_unfinished else "Run canceled.")
    return redirect("data_export", slug=request.account.slug, data_export_id=row.export_id)


@account_page(Role.ADMIN)
@require_POST
def pause(request: AccountRequest, data_export_id: int) -> HttpResponse:
    return _change(request, data_export_id, services.pause_data_export, "Data export paused.")


@account_page(Role.ADMIN)
@require_POST
def resume(request: AccountRequest, data_export_id: int) -> HttpResponse:
    return _change(request, data_export_id, services.resume_data_export, "Data export resumed.")


@account_page(Role.ADMIN)
@require_POST
def delete(request: AccountRequest, data_export_id: int) -> HttpResponse:
    row, with_files = export_of(data_export_id), bool(request.POST.get("with_files"))
    with ErrorMessages(request):
        services.delete_data_export(export=row, actor=request.actor, with_files=with_files)
        text = (
            f"Data export {row.name} and its files are being deleted."
            if with_files
            else f"Data export {row.name} deleted. Its files stay in the bucket."
        )
        messages.success(request, text)
    return redirect("data_exports", slug=request.account.slug)


def export_of(data_export_id: int) -> DataExport:
    """Return the export of the account in scope; 404 for another's."""
    return get_object_or_404(DataExport.objects.select_related("account", "created_by"), pk=data_export_id)


def seconds_of(row: DataExportRun) -> Decimal | None:
    """The duration to a tenth, at least one; None before it ended."""
    return None if row.seconds is None else max(Decimal(f"{row.seconds:.1f}"), Decimal("0.1"))


def _change(
    request: AccountRequest, data_export_id: int, change: Callable[..., Any], success: str
) -> HttpResponse:
    row = export_of(data_export_id)
    with ErrorMessages(request):
        change(export=row, actor=request.actor)
        messages.success(request, success)
    return redirect("data_export", slug=request.account.slug, data_export_id=row.pk)
