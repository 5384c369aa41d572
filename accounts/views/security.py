"""Settings → Security: the second factor that the account requires, and how long a session opens its pages."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.forms import FormErrors, SecurityForm
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.security.policy import missing_factor_deadline
from accounts.security.queries import members_without_second_factor
from accounts.security.services import change_security_policy
from finops.lib import clock


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: AccountRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request, SecurityForm.of(request.account))
    form = SecurityForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            change_security_policy(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, "Security settings saved.")
            return redirect("account_security", slug=request.account.slug)
    return _page(request, form)


def _page(request: AccountRequest, form: SecurityForm) -> HttpResponse:
    members = members_without_second_factor(request.account)
    without = [(member, missing_factor_deadline(request.account, member)) for member in members]
    context = {"form": form, "without": without, "now": clock.now()}
    return render(request, "accounts/security/account.html", context, status=422 if form.errors else 200)
