"""The wizard that adds a connection: choose a connector, enter its settings, test it. Also changing a connection, and the sample
data.

Nothing is stored before the last step. The wizard carries only the external id between requests, signed for its person and account.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.connections import services
from finops.connections.catalog import connector_groups
from finops.connections.configs import is_external_id_of, new_external_id
from finops.connections.connector import CheckFinding, Connector
from finops.connections.connectors import connector_of, connectors
from finops.connections.forms import ConfigForm, ConnectionForm
from finops.connections.links import ConnectionLinks
from finops.connections.models import CostConnection
from finops.connections.services.credentials import secret_names
from finops.connections.views.syncs import connection_of
from finops.lib.errors import UserError


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def new(request: AccountRequest) -> HttpResponse:
    """The connectors to choose from; with `?connector=` its steps and form. A POST creates the connection and starts a sync."""
    connector = connectors().get(request.GET.get("connector", ""))
    if connector is None:
        return _catalog(request)
    external_id = external_id_of(request)
    if request.method != "POST":
        form = ConnectionForm(connector, initial={"name": connector.provider})
        return _new_page(request, form, external_id)
    form = ConnectionForm(connector, request.POST)
    if form.is_valid():
        with FormErrors(form):
            connection = services.create_connection(
                account=request.account,
                actor=request.actor,
                connector=connector.name,
                name=form.cleaned_data["name"],
                values=form.config_values(),
                external_id=external_id,
                first_month=form.cleaned_data["first_month"],
                interval_minutes=form.cleaned_data["interval_minutes"],
            )
            sync = connection.syncs.order_by("pk")[0]
            return redirect("cost_sync", slug=request.account.slug, sync_id=sync.pk)
    return _new_page(request, form, external_id, status=422)


def _catalog(request: AccountRequest) -> HttpResponse:
    search = request.GET.get("q", "").strip()
    groups = connector_groups(search)
    count = sum(len(group.connectors) for group in groups)
    context = {"groups": groups, "search": search, "count": count}
    return render(request, "connections/catalog.html", context)


def external_id_of(request: AccountRequest) -> str:
    """The external id that the page showed, which the role's trust policy has by now; or else a new one."""
    external_id = request.POST.get("external_id", "")
    if is_external_id_of(request.account, external_id):
        return external_id
    return new_external_id(account=request.account)


def _new_page(
    request: AccountRequest, form: ConnectionForm, external_id: str, *, status: int = 200
) -> HttpResponse:
    context = new_page_context(form, external_id)
    return render(request, "connections/new.html", context, status=status)


def new_page_context(form: ConfigForm, external_id: str) -> dict[str, Any]:
    """The context of the last step: the form and the instructions for the provider."""
    return {
        "form": form,
        "connector": form.connector,
        "steps": form.connector.steps(external_id),
        "external_id": external_id,
    }


@account_page(Role.MEMBER)
@require_POST
@sensitive_post_parameters()
def test(request: AccountRequest) -> HttpResponse:
    """*Test connection* in the wizard: the result by permission. Stores nothing."""
    try:
        connector = connector_of(request.GET.get("connector", ""))
    except UserError as error:
        return findings_response(request, problems=[error.message])
    return _check(request, ConnectionForm(connector, request.POST), external_id_of(request))


def _check(
    request: AccountRequest,
    form: ConnectionForm,
    external_id: str,
    connection: CostConnection | None = None,
) -> HttpResponse:
    return check_response(
        request,
        form,
        lambda: services.check_config(
            account=request.account,
            connector=form.connector.name,
            values=form.config_values(),
            external_id=external_id,
            connection=connection,
            in_child=True,
        ),
    )


def check_response(
    request: AccountRequest, form: ConfigForm, check: Callable[[], list[CheckFinding]]
) -> HttpResponse:
    """The result of *Test connection* for the form, which needs no name yet; or the form's errors."""
    if "name" in form.fields:
        form.fields["name"].required = False
    if not form.is_valid():
        return findings_response(request, problems=form.problems())
    with FormErrors(form):
        return findings_response(request, check())
    return findings_response(request, problems=form.problems())


def findings_response(
    request: AccountRequest, findings: list[CheckFinding] | None = None, problems: list[str] | None = None
) -> HttpResponse:
    findings = findings or []
    required = [each for each in findings if not each.is_optional]
    failed = sum(not each.is_ok for each in required)
    context = {
        "findings": findings,
        "required": len(required),
        "failed": failed,
        "works": not failed,
        "problems": problems or [],
    }
    return render(request, "connections/_findings.html", context)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def edit(request: AccountRequest, /, **source_id: int) -> HttpResponse:
    connection = connection_of(source_id)
    connector = connectors().get(connection.connector)
    if connector is None:
        links = ConnectionLinks(request.account.slug, connection)
        context = {"connection": connection, "source": connection.target, "links": links}
        return render(request, "connections/edit_unknown.html", context)
    if request.method != "POST":
        return _edit_page(request, connection, _form_of(connection, connector))
    form = _form_of(connection, connector, request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.change_connection(
                connection=connection,
                actor=request.actor,
                values=form.config_values(),
                first_month=form.cleaned_data["first_month"],
                interval_minutes=form.cleaned_data["interval_minutes"],
            )
            messages.success(request, "Connection saved.")
            return redirect(ConnectionLinks(request.account.slug, connection).source)
    return _edit_page(request, connection, form, status=422)


def _form_of(connection: CostConnection, connector: Connector[Any], *data: Any) -> ConnectionForm:
    return ConnectionForm(
        connector,
        *data,
        stored=connection.config,
        stored_secrets=secret_names(connection),
        first_month=connection.first_month,
        interval_minutes=connection.interval_minutes,
    )


def _edit_page(
    request: AccountRequest, connection: CostConnection, form: ConnectionForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "connection": connection,
        "source": connection.target,
        "links": ConnectionLinks(request.account.slug, connection),
        "connector": form.connector,
        "steps": form.connector.steps(connection.external_id),
    }
    return render(request, "connections/edit.html", context, status=status)


@account_page(Role.MEMBER)
@require_POST
@sensitive_post_parameters()
def edit_test(request: AccountRequest, /, **source_id: int) -> HttpResponse:
    """*Test connection* of an existing connection: uses its stored secrets for empty fields."""
    connection = connection_of(source_id)
    try:
        form = _form_of(connection, connector_of(connection.connector), request.POST)
    except UserError as error:
        return findings_response(request, problems=[error.message])
    return _check(request, form, connection.external_id, connection)
