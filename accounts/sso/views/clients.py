"""Clients whose access an identity provider controls (ID-JAG)."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from accounts.sso.assertion_clients import add_assertion_client, remove_assertion_client
from accounts.sso.forms import AssertionClientForm, DomainForm
from accounts.sso.models import AssertionClient, IdentityProvider
from accounts.sso.queries import providers_of
from accounts.sso.views.providers import provider_page


@account_page(Role.ADMIN)
@require_POST
def add(request: AccountRequest, provider_id: int) -> HttpResponse:
    """Add a client and show its secret, which no other response contains."""
    rows = providers_of(request.account).filter(protocol=IdentityProvider.Protocol.OIDC)
    provider, form = get_object_or_404(rows, pk=provider_id), AssertionClientForm(request.POST)
    reauthenticate_first(request)
    if form.is_valid():
        with FormErrors(form):
            client, secret = add_assertion_client(
                provider=provider,
                actor=request.actor,
                name=form.cleaned_data["name"],
                access=form.cleaned_data["access"],
            )
            context = {
                "provider": provider,
                "client": client,
                "client_id": client.application.client_id,
                "plaintext": secret,
                "token_url": f"{settings.PUBLIC_URL}/oauth/token",
            }
            return render(request, "accounts/sso/client_secret.html", context)
    return provider_page(request, provider, DomainForm(), form)


@account_page(Role.ADMIN)
@require_POST
def remove(request: AccountRequest, assertion_client_id: int) -> HttpResponse:
    rows = AssertionClient.objects.select_related("provider")
    client = get_object_or_404(rows, pk=assertion_client_id, provider__account=request.account)
    reauthenticate_first(request)
    remove_assertion_client(client=client, actor=request.actor)
    messages.success(request, f"{client.name} removed.")
    return redirect("identity_provider", slug=request.account.slug, provider_id=client.provider_id)
