"""Domains of an identity provider."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from accounts.sso.forms import DomainForm
from accounts.sso.models import EmailDomain
from accounts.sso.services import add_domain, remove_domain, verify_domain
from accounts.sso.views.providers import provider_or_404, provider_page


def _domain_or_404(request: AccountRequest, domain_id: int) -> EmailDomain:
    rows = EmailDomain.objects.select_related("provider__account")
    return get_object_or_404(rows, pk=domain_id, provider__account=request.account)


def _to_provider(request: AccountRequest, row: EmailDomain) -> HttpResponse:
    return redirect("identity_provider", slug=request.account.slug, provider_id=row.provider_id)


@account_page(Role.ADMIN)
@require_POST
def add(request: AccountRequest, provider_id: int) -> HttpResponse:
    provider, form = provider_or_404(request, provider_id), DomainForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            row = add_domain(provider=provider, actor=request.actor, domain=form.cleaned_data["domain"])
            messages.success(request, f"{row.domain} added. Publish its TXT record, then verify it.")
            return _to_provider(request, row)
    return provider_page(request, provider, form)


@account_page(Role.ADMIN)
@require_POST
def verify(request: AccountRequest, domain_id: int) -> HttpResponse:
    row = _domain_or_404(request, domain_id)
    reauthenticate_first(request)
    with ErrorMessages(request):
        verify_domain(row=row, actor=request.actor)
        messages.success(request, f"{row.domain} is verified.")
    return _to_provider(request, row)


@account_page(Role.ADMIN)
@require_POST
def remove(request: AccountRequest, domain_id: int) -> HttpResponse:
    row = _domain_or_404(request, domain_id)
    with ErrorMessages(request):
        remove_domain(row=row, actor=request.actor)
        messages.success(request, f"{row.domain} removed.")
    return _to_provider(request, row)
