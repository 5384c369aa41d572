"""Settings → Security: whether the account demands a second factor."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.doors import AccountRequest, account_page
from accounts.forms import FormErrors, SecurityForm
from accounts.models import Role
from accounts.security.queries import members_without_second_factor
from accounts.security.services import change_second_factor_policy


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: AccountRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request, SecurityForm.of(request.account))
    form = SecurityForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            change_second_factor_policy(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, "Account saved.")
            return redirect("account_security", slug=request.account.slug)
    return _page(request, form)


def _page(request: AccountRequest, form: SecurityForm) -> HttpResponse:
    context = {"form": form, "without": members_without_second_factor(request.account)}
    return render(request, "accounts/security/account.html", context, status=422 if form.errors else 200)
