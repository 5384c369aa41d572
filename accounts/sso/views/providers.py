"""Settings → Single sign-on: identity providers of the account."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.oauth.resource import issuer
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from accounts.sso import oidc
from accounts.sso.enforcement import is_session_of_provider
from accounts.sso.forms import AssertionClientForm, DomainForm, GroupMappingForm, provider_form
from accounts.sso.models import GroupMapping, IdentityProvider, ScimGroup, ScimUser
from accounts.sso.queries import providers_of
from accounts.sso.scim.tokens import living_tokens
from accounts.sso.scim.urls import base_url
from accounts.sso.services import (
    change_enforcement,
    delete_provider,
    provider_urls,
    save_provider,
    team_names,
    test_connection,
)
from accounts.sso.trust import may_change_trust

Protocol = IdentityProvider.Protocol


def provider_or_404(request: AccountRequest, provider_id: int) -> IdentityProvider:
    return get_object_or_404(providers_of(request.account), pk=provider_id)


@account_page(Role.ADMIN)
@require_safe
def index(request: AccountRequest) -> HttpResponse:
    return index_page(request, GroupMappingForm(account=request.account))


def index_page(request: AccountRequest, form: GroupMappingForm) -> HttpResponse:
    """Render providers and group mappings with the form of a new mapping."""
    teams = team_names(request.account)
    mappings = [
        (row, row.team_id and teams.get(row.team_id, "Deleted team")) for row in GroupMapping.objects.all()
    ]
    context = {
        "providers": providers_of(request.account).prefetch_related("domains"),
        "mappings": mappings,
        "form": form,
    }
    return render(request, "accounts/sso/index.html", context, status=422 if form.errors else 200)


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def new_oidc(request: AccountRequest) -> HttpResponse:
    return _form_page(request, IdentityProvider(account=request.account, protocol=Protocol.OIDC))


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def new_saml(request: AccountRequest) -> HttpResponse:
    return _form_page(request, IdentityProvider(account=request.account, protocol=Protocol.SAML))


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, provider_id: int) -> HttpResponse:
    return _form_page(request, provider_or_404(request, provider_id))


def _form_page(request: AccountRequest, provider: IdentityProvider) -> HttpResponse:
    form = provider_form(
        provider,
        request.POST if request.method == "POST" else None,
        may_change_trust=request.membership.may(Role.OWNER) or may_change_trust(provider, request.user),
    )
    if request.method == "POST" and form.is_valid():
        reauthenticate_first(request)
        with FormErrors(form):
            form.apply(provider)
            provider.created_by = provider.created_by or request.user
            save_provider(
                provider=provider, actor=request.actor, client_secret=form.secret(), limit=form.limit()
            )
            messages.success(request, f"{provider.name} saved.")
            return redirect("identity_provider", slug=request.account.slug, provider_id=provider.pk)
    cancel_href = (
        reverse("identity_provider", args=[request.account.slug, provider.pk])
        if provider.pk
        else reverse("identity_providers", args=[request.account.slug])
    )
    context = {
        "form": form,
        "provider": provider,
        "redirect_uri": oidc.redirect_uri(provider),
        "cancel_href": cancel_href,
    }
    return render(request, "accounts/sso/form.html", context, status=422 if form.errors else 200)


@account_page(Role.ADMIN)
@require_safe
def show(request: AccountRequest, provider_id: int) -> HttpResponse:
    return provider_page(request, provider_or_404(request, provider_id), DomainForm())


def provider_page(
    request: AccountRequest,
    provider: IdentityProvider,
    form: DomainForm,
    client_form: AssertionClientForm | None = None,
) -> HttpResponse:
    """Render a provider with its domains and clients and their forms."""
    client_form = client_form or AssertionClientForm()
    domains = list(provider.domains.all())
    context = {
        "provider": provider,
        "form": form,
        "domains": domains,
        "has_verified_domain": any(row.verified_at for row in domains),
        "is_session_of_provider": is_session_of_provider(request, request.user, provider.public_id),
        "copy": provider_urls(provider),
        "clients": list(provider.assertion_clients.select_related("application")),
        "client_form": client_form,
        "issuer": issuer(),
        "scim_url": base_url(provider),
        "scim_tokens": list(living_tokens(provider)),
        "scim_users": ScimUser.objects.filter(provider=provider).count(),
        "scim_groups": ScimGroup.objects.filter(provider=provider).count(),
        "next": reverse("identity_provider", args=[request.account.slug, provider.pk]),
    }
    status = 422 if form.errors or client_form.errors else 200
    return render(request, "accounts/sso/provider.html", context, status=status)


@account_page(Role.ADMIN)
@require_POST
def test(request: AccountRequest, provider_id: int) -> HttpResponse:
    provider = provider_or_404(request, provider_id)
    with ErrorMessages(request):
        test_connection(provider)
        messages.success(request, "The settings are correct. Sign in once to test them.")
    return redirect("identity_provider", slug=request.account.slug, provider_id=provider.pk)


@account_page(Role.ADMIN)
@require_POST
def enforce(request: AccountRequest, provider_id: int) -> HttpResponse:
    """Enforce the provider if the form has `on`; otherwise stop enforcing it."""
    provider = provider_or_404(request, provider_id)
    reauthenticate_first(request)
    with ErrorMessages(request):
        change_enforcement(
            provider=provider,
            actor=request.actor,
            is_enforced="on" in request.POST,
            signed_in_through_it=is_session_of_provider(request, request.user, provider.public_id),
        )
        messages.success(
            request,
            f"Sign-in through {provider.name} is required."
            if provider.is_enforced
            else f"Sign-in through {provider.name} is optional.",
        )
    return redirect("identity_provider", slug=request.account.slug, provider_id=provider.pk)


@account_page(Role.ADMIN)
@require_POST
def delete(request: AccountRequest, provider_id: int) -> HttpResponse:
    provider = provider_or_404(request, provider_id)
    reauthenticate_first(request)
    delete_provider(provider=provider, actor=request.actor)
    messages.success(request, f"{provider.name} deleted.")
    return redirect("identity_providers", slug=request.account.slug)
