"""SCIM tokens of an identity provider."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from accounts.sso.models import IdentityProvider, ScimToken
from accounts.sso.scim.tokens import create_scim_token, revoke_scim_token
from accounts.sso.scim.urls import base_url
from accounts.sso.views.providers import provider_or_404


@account_page(Role.ADMIN)
@require_POST
def create(request: AccountRequest, provider_id: int) -> HttpResponse:
    """Create a token and show it; no other response contains its plaintext. `living` is the number of tokens that the
    page showed, so that a double click does not create a second token."""
    provider = provider_or_404(request, provider_id)
    reauthenticate_first(request)
    living = request.POST.get("living", "")
    with ErrorMessages(request):
        _token, plaintext = create_scim_token(
            provider=provider,
            actor=request.actor,
            living=int(living) if living.isascii() and living.isdecimal() else None,
        )
        context = {"provider": provider, "plaintext": plaintext, "scim_url": base_url(provider)}
        return render(request, "accounts/sso/scim_token.html", context)
    return _to_provider(request, provider)


@account_page(Role.ADMIN)
@require_POST
def revoke(request: AccountRequest, scim_token_id: int) -> HttpResponse:
    rows = ScimToken.objects.select_related("provider", "account")
    token = get_object_or_404(rows, pk=scim_token_id)
    reauthenticate_first(request)
    revoke_scim_token(token=token, actor=request.actor)
    messages.success(request, f"{token.masked_token} revoked.")
    return _to_provider(request, token.provider)


def _to_provider(request: AccountRequest, provider: IdentityProvider) -> HttpResponse:
    return redirect("identity_provider", slug=request.account.slug, provider_id=provider.pk)
