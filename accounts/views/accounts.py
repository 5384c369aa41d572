"""Creating an account, and its settings."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods

from accounts import queries
from accounts.forms import AccountForm, FormErrors, NewAccountForm
from accounts.models import Account, Role, User
from accounts.page_access import AccountRequest, account_page
from accounts.services import change_account, create_account


class SignedInRequest(HttpRequest):
    user: User


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: SignedInRequest) -> HttpResponse:
    form = NewAccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            account = create_account(name=form.cleaned_data["name"], owner=request.user)
            messages.success(request, f"Account {account.name} created. Next, connect a cost source.")
            next_url = request.GET.get("next", "")
            if next_url and url_has_allowed_host_and_scheme(next_url, allowed_hosts=None):
                return redirect(next_url)  # to a client that waits for consent
            return redirect("connections", slug=account.slug)
    accounts = Account.objects.filter(memberships__user=request.user.pk).order_by("name", "pk")
    return render(request, "accounts/create.html", {"form": form, "mine": accounts})


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: AccountRequest) -> HttpResponse:
    """Show the settings to all members; admins change them. Raises PermissionDenied for a change by anybody else."""
    if request.method != "POST":
        return _settings_page(request, AccountForm.of(request.account))
    if not request.membership.may(Role.ADMIN):
        raise PermissionDenied("Only admins and owners can change the account.")
    form = AccountForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            change_account(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, "Account saved.")
            return redirect("account_settings", slug=request.account.slug)
        request.account.refresh_from_db()
    return _settings_page(request, form)


def _settings_page(request: AccountRequest, form: AccountForm) -> HttpResponse:
    context: dict[str, Any] = {"form": form}
    if not request.membership.may(Role.ADMIN):
        context["shown"] = form.shown()
    if request.membership.may(Role.OWNER):
        context |= {"is_owner": True, "successors": queries.successors(request.account)}
    return render(request, "accounts/settings.html", context, status=422 if form.errors else 200)
