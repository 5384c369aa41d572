"""Settings → Service accounts: the list, a new client secret shown once, its key, rotating and deleting."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import (
    ErrorMessages,
    FormErrors,
    ServiceAccountForm,
    ServiceAccountKeyForm,
    take_error,
)
from accounts.models import Membership, OAuthConnection, Role, ServiceAccount
from accounts.oauth.client_keys import ClientKeys
from accounts.oauth.queries import service_accounts
from accounts.oauth.resource import issuer, resource
from accounts.oauth.service_accounts import (
    create_service_account,
    delete_service_account,
    replace_keys,
    rotate_secret,
)
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from accounts.snippets import service_account_snippets, signed_snippets
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage

LIST = ListPage[ServiceAccount](
    name="service-accounts",
    title="Service accounts",
    noun="service account",
    order="-created",
    actions="Actions",
    muted=lambda row: row.is_expired,
    columns=[
        Column("name", "Name", lambda row: row.name, row_header=True),
        Column("access", "Access", lambda row: row.connection.get_access_display(), css="nowrap"),
        Column("id", "Client ID", lambda row: row.connection.application.client_id, shown=False),
        Column("by", "Created by", lambda row: row.created_by_label, shown=False),
        Column("created", "Created", lambda row: row.created_at, css="cell-name"),
        Column("credential", "Authentication", lambda row: "Key" if row.has_keys else "Secret", shown=False),
        Column("rotated", "Credential replaced", lambda row: row.rotated_at, shown=False),
        Column("used", "Last used", lambda row: row.connection.last_used_at, css="cell-client"),
        Column("client", "Last client", lambda row: row.connection.last_client, shown=False),
        Column("expires", "Expires", lambda row: row.expires_at, css="nowrap"),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    rows = service_accounts(request.account)
    members = set(Membership.objects.filter(account=request.account).values_list("user_id", flat=True))
    former = {row.pk for row in rows if row.created_by_id is not None and row.created_by_id not in members}
    context = {"former": former, "may_manage": request.membership.may(Role.ADMIN)}
    return LIST.response(request, rows, "accounts/service_accounts.html", context)


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Show the form, and on POST create the service account and show its client secret, which no other response
    contains.

    A form creates one service account. A reload or a second click creates no second one.
    """
    if request.method != "POST":
        return _form_page(request, ServiceAccountForm(request.account))
    form = ServiceAccountForm(request.account, request.POST)
    if not form.is_valid():
        return _form_page(request, form)
    if form.cleaned_data["scope"] == OAuthConnection.Access.READ_WRITE:
        reauthenticate_first(request)
    if not form.claim(request.user):
        messages.warning(
            request,
            "The service account was already created, and a secret is shown only once. If you did not copy it, rotate it.",
        )
        return redirect("service_accounts", slug=request.account.slug)
    try:
        row, secret = create_service_account(
            account=request.account,
            actor=request.actor,
            name=form.cleaned_data["name"],
            access=form.cleaned_data["scope"],
            expires_at=form.cleaned_data["expires_on"],
            limit=form.cleaned_data.get("limit", ""),
            keys=form.cleaned_data["key"],
        )
    except (UserError, ValidationError) as error:
        form.release(request.user)
        take_error(form, error)
        return _form_page(request, form)
    return _credential_page(request, row, secret)


def _form_page(request: AccountRequest, form: ServiceAccountForm) -> HttpResponse:
    status = 422 if form.errors else 200
    return render(request, "accounts/service_account_new.html", {"form": form}, status=status)


def _credential_page(request: AccountRequest, row: ServiceAccount, secret: str) -> HttpResponse:
    """Show the client ID, the secret if there is one, and how a program gets a token."""
    client_id = row.connection.application.client_id
    snippets = (
        signed_snippets(issuer(), resource(), client_id)
        if row.has_keys
        else service_account_snippets(issuer(), resource(), client_id, secret)
    )
    context: dict[str, Any] = {
        "service_account": row,
        "client_id": client_id,
        "plaintext": secret,
        "token_url": f"{settings.PUBLIC_URL}/oauth/token",
        "snippets": snippets,
        "audience": issuer(),
    }
    return render(request, "accounts/service_account_secret.html", context)


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def key(request: AccountRequest, service_account_id: int) -> HttpResponse:
    """Show the form of a public key, and on POST replace the key or secret by it."""
    row = _row(service_account_id)
    form = ServiceAccountKeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        reauthenticate_first(request)
        with FormErrors(form):
            row = replace_keys(service_account=row, actor=request.actor, keys=form.cleaned_data["key"])
            return _credential_page(request, row, "")
    current = ClientKeys(jwks=row.public_keys, url=row.jwks_url).label
    context = {"service_account": row, "form": form, "current": current}
    status = 422 if form.errors else 200
    return render(request, "accounts/service_account_key.html", context, status=status)


@account_page(Role.ADMIN)
@require_POST
def rotate(request: AccountRequest, service_account_id: int) -> HttpResponse:
    """Replace the client secret and show the new one, which no other response contains."""
    row = _row(service_account_id)
    reauthenticate_first(request)
    with ErrorMessages(request):
        return _credential_page(request, row, rotate_secret(service_account=row, actor=request.actor))
    return redirect("service_accounts", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_POST
def delete(request: AccountRequest, service_account_id: int) -> HttpResponse:
    row = _row(service_account_id)
    delete_service_account(service_account=row, actor=request.actor)
    messages.success(request, f"Service account {row.name} deleted.")
    return redirect("service_accounts", slug=request.account.slug)


def _row(service_account_id: int) -> ServiceAccount:
    rows = ServiceAccount.objects.select_related("account", "connection__application")
    return get_object_or_404(rows, pk=service_account_id)
