"""Adding a data export: select a destination, enter its config, test it; changing one. The same as the wizard of
connections."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.connections.views.wizard import (
    check_response,
    external_id_of,
    findings_response,
    new_page_context,
)
from finops.data_exports.destinations import destination_of, destinations
from finops.data_exports.forms import DataExportForm
from finops.data_exports.models import DataExport
from finops.data_exports.queries import cost_tag_names
from finops.data_exports.services import exports as services
from finops.data_exports.views.exports import export_of
from finops.lib.errors import UserError


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def new(request: AccountRequest) -> HttpResponse:
    """Show the destinations to choose from; with `?destination=` its steps and form. A POST creates the export and runs it."""
    destination = destinations().get(request.GET.get("destination", ""))
    if destination is None:
        offered = [each for each in destinations().values() if each.is_offered()]
        return render(request, "data_exports/destinations.html", {"destinations": offered})
    external_id, cost_tags = external_id_of(request), cost_tag_names(request.account)
    if request.method != "POST":
        form = DataExportForm(destination, cost_tags, initial={"name": "focus"})
        return _new_page(request, form, external_id)
    form = DataExportForm(destination, cost_tags, request.POST)
    if form.is_valid():
        with FormErrors(form):
            row = services.create_data_export(
                account=request.account,
                actor=request.actor,
                destination=destination.name,
                name=form.cleaned_data["name"],
                values=form.config_values(),
                external_id=external_id,
                schedule=form.cleaned_data["schedule"],
                excluded_columns=form.excluded_columns(),
                with_splits=form.cleaned_data["with_splits"],
            )
            return redirect("data_export", slug=request.account.slug, data_export_id=row.pk)
    return _new_page(request, form, external_id, status=422)


def _new_page(
    request: AccountRequest, form: DataExportForm, external_id: str, *, status: int = 200
) -> HttpResponse:
    context = new_page_context(form, external_id)
    return render(request, "data_exports/new.html", context, status=status)


@account_page(Role.ADMIN)
@require_POST
@sensitive_post_parameters()
def test(request: AccountRequest) -> HttpResponse:
    """*Test connection* of the wizard: the result of each permission. Stores nothing."""
    try:
        destination = destination_of(request.GET.get("connector", ""))
    except UserError as error:
        return findings_response(request, problems=[error.message])
    form = DataExportForm(destination, cost_tag_names(request.account), request.POST)
    return _check(request, form, external_id_of(request))


def _check(
    request: AccountRequest, form: DataExportForm, external_id: str, export: DataExport | None = None
) -> HttpResponse:
    return check_response(
        request,
        form,
        lambda: services.check_destination(
            account=request.account,
            destination=form.destination.name,
            values=form.config_values(),
            external_id=external_id,
            export=export,
            in_child=True,
        ),
    )


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def edit(request: AccountRequest, data_export_id: int) -> HttpResponse:
    row = export_of(data_export_id)
    if request.method != "POST":
        return _edit_page(request, row, _form_of(request, row))
    form = _form_of(request, row, request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.change_data_export(
                export=row,
                actor=request.actor,
                values=form.config_values(),
                schedule=form.cleaned_data["schedule"],
                excluded_columns=form.excluded_columns(),
                with_splits=form.cleaned_data["with_splits"],
            )
            messages.success(request, "Data export saved.")
            return redirect("data_export", slug=request.account.slug, data_export_id=row.pk)
    return _edit_page(request, row, form, status=422)


def _form_of(request: AccountRequest, row: DataExport, *data: Any) -> DataExportForm:
    return DataExportForm(destination_of(row.destination), cost_tag_names(request.account), *data, export=row)


def _edit_page(
    request: AccountRequest, row: DataExport, form: DataExportForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "export": row,
        "connector": form.destination,
        "steps": form.destination.steps(row.external_id),
    }
    return render(request, "data_exports/edit.html", context, status=status)


@account_page(Role.ADMIN)
@require_POST
@sensitive_post_parameters()
def edit_test(request: AccountRequest, data_export_id: int) -> HttpResponse:
    """*Test connection* of an existing export: with its stored secrets where their fields are empty."""
    row = export_of(data_export_id)
    return _check(request, _form_of(request, row, request.POST), row.external_id, row)
