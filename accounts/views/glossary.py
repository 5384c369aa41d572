"""Settings → Glossary: the account's own terms. Admins change them, all members see them."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts import queries
from accounts.forms import FormErrors, GlossaryForm
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.services import replace_glossary


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: AccountRequest) -> HttpResponse:
    """Show the glossary to all members. Raises PermissionDenied for a change by a role below admin."""
    if request.method != "POST":
        return _page(request, GlossaryForm.of(queries.glossary(request.account)))
    if not request.membership.may(Role.ADMIN):
        raise PermissionDenied("Only admins and owners can change the glossary.")
    form = GlossaryForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            replace_glossary(account=request.account, actor=request.actor, terms=form.cleaned_data["terms"])
            messages.success(request, "Glossary saved.")
            return redirect("glossary", slug=request.account.slug)
    return _page(request, form)


def _page(request: AccountRequest, form: GlossaryForm) -> HttpResponse:
    return render(request, "accounts/glossary.html", {"form": form}, status=422 if form.errors else 200)
