"""Identity providers in the console: operators' actions on any, and the form for those of the whole service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from django.contrib import messages
from django.contrib.admin.models import ADDITION, CHANGE
from django.db import models, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.audit import Actor
from accounts.forms import FormErrors
from accounts.models import User
from accounts.security.reauthentication import reauthenticate_first
from accounts.sso import oidc
from accounts.sso.forms import OidcForm, SamlForm, provider_form
from accounts.sso.models import IdentityProvider
from accounts.sso.queries import providers_of
from accounts.sso.services import (
    add_domain,
    change_enforcement,
    confirm_domain,
    delete_provider,
    disable_provider,
    enable_provider,
    remove_domain,
    save_provider,
    test_connection,
)
from finops.operations.actions import RowAction, log_act, operator_actor, service_call
from finops.operations.catalog import entries, group_of
from finops.operations.forms import ServiceDomainForm
from finops.operations.links import list_href, row_href

if TYPE_CHECKING:
    from finops.operations.site import OperatorSite

Protocol = IdentityProvider.Protocol
_METHODS: Final = ["GET", "HEAD", "POST"]
_PREFIX: Final = "sso/identityprovider"


def _test_provider(provider: IdentityProvider, actor: Actor) -> str:
    test_connection(provider)
    return "The settings are correct."


def _add_domain(provider: IdentityProvider, actor: Actor, values: Mapping[str, str]) -> str:
    row = add_domain(provider=provider, actor=actor, domain=values["domain"])
    confirm_domain(row=row, actor=actor)
    return f"{row.domain} is verified."


def _is_of_the_service(provider: IdentityProvider) -> bool:
    return provider.account_id is None


def _change_enforcement(is_enforced: bool, outcome: str) -> Callable[[Any, Actor], str]:
    # An operator signs in at the service's own provider or by password: never through that of an account.
    return service_call(
        change_enforcement, "provider", outcome, is_enforced=is_enforced, signed_in_through_it=True
    )


SIGN_ON_ACTIONS: Final[dict[str, dict[str, RowAction]]] = {
    "sso.IdentityProvider": {
        "test": RowAction(
            "Test connection",
            "Asks the provider for its settings and keys with the client ID and secret. Up to 30 seconds.",
            _test_provider,
        ),
        "enforce": RowAction(
            "Enforce sign-on",
            "People of its verified domains sign in here alone. Sign in with it first to test it.",
            _change_enforcement(True, "Sign-in through it is required."),
            lambda provider: not provider.is_enforced and provider.disabled_at is None,
            True,
        ),
        "stop-enforcing": RowAction(
            "Stop enforcing",
            "People of its domains sign in with password and passkey again.",
            _change_enforcement(False, "Sign-in through it is optional."),
            lambda provider: provider.is_enforced,
        ),
        "add-domain": RowAction(
            "Add domain",
            "The provider vouches for addresses of this domain, without a check of DNS. With a domain, it vouches for no other.",
            _add_domain,
            _is_of_the_service,
            form=ServiceDomainForm,
        ),
        "disable": RowAction(
            "Disable provider",
            "Nobody signs in through it, and its domains are not enforced. Sessions go on; settings, domains and links to people stay.",
            service_call(disable_provider, "provider", "The provider is disabled."),
            lambda provider: _is_of_the_service(provider) and provider.disabled_at is None,
            True,
        ),
        "enable": RowAction(
            "Enable provider",
            "People sign in through it again.",
            service_call(enable_provider, "provider", "The provider is enabled."),
            lambda provider: provider.disabled_at is not None,
        ),
        "delete": RowAction(
            "Delete provider",
            "Its domains and links to people are deleted. People stay members and sign in another way.",
            service_call(delete_provider, "provider", "The provider is deleted."),
            is_danger=True,
        ),
    },
    "sso.EmailDomain": {
        "confirm": RowAction(
            "Confirm domain",
            "The provider vouches for addresses of this domain, without a check of DNS.",
            service_call(confirm_domain, "row", "The domain is verified."),
            lambda domain: domain.verified_at is None,
            True,
        ),
        "remove": RowAction(
            "Remove domain",
            "The provider no longer vouches for its addresses.",
            service_call(remove_domain, "row", "The domain is removed."),
            lambda domain: _is_of_the_service(domain.provider),
            True,
        ),
    },
}


def identity_provider_urls(site: OperatorSite) -> list[URLPattern]:
    """URLs to add and edit a provider, for operators who may act; 404 for others."""

    @sensitive_post_parameters()
    @require_http_methods(_METHODS)
    def new(request: HttpRequest, protocol: str) -> HttpResponse:
        if protocol not in Protocol.values:
            raise Http404("no such protocol")
        return _form_page(site, request, IdentityProvider(protocol=protocol))

    @sensitive_post_parameters()
    @require_http_methods(_METHODS)
    def edit(request: HttpRequest, provider_id: int) -> HttpResponse:
        return _form_page(site, request, get_object_or_404(providers_of(None), pk=provider_id))

    return [
        path(f"{_PREFIX}/new/<slug:protocol>/", site.admin_view(new), name="identity_provider_new"),
        path(f"{_PREFIX}/<int:provider_id>/edit/", site.admin_view(edit), name="identity_provider_edit"),
    ]


def create_links(model: type[models.Model]) -> list[tuple[str, str]]:
    """Label and address of each page that adds a row of the model; none for most."""
    if model is not IdentityProvider:
        return []
    return [
        (label, reverse("admin:identity_provider_new", args=[value])) for value, label in Protocol.choices
    ]


def _form_page(site: OperatorSite, request: HttpRequest, provider: IdentityProvider) -> HttpResponse:
    if not site.may_act(request):
        raise Http404("no operator who acts")
    title = f"Edit {provider.name}" if provider.pk else f"Add {provider.get_protocol_display()}"
    form = provider_form(provider, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        reauthenticate_first(request)
        with FormErrors(form):
            _save(provider, form, cast(User, request.user))
            messages.success(request, f"{provider.name} saved. Test the connection, then sign in once.")
            return redirect(row_href(provider))
    context = {
        **site.each_context(request),
        "title": title,
        "group": group_of(IdentityProvider),
        "entry": next(each for each in entries() if each.model is IdentityProvider),
        "list_href": list_href(IdentityProvider),
        "row": provider,
        "form": form,
        "provider": provider,
        "redirect_uri": oidc.redirect_uri(provider),
        "cancel_href": row_href(provider) if provider.pk else list_href(IdentityProvider),
    }
    status = 422 if form.errors else 200
    return TemplateResponse(request, "operations/identity_provider.html", context, status=status)


@transaction.atomic
def _save(provider: IdentityProvider, form: OidcForm | SamlForm, operator: User) -> None:
    """Save the provider. Raises ValidationError and UserError as `save_provider`."""
    is_new = provider.pk is None
    form.apply(provider)
    provider.created_by = provider.created_by or operator
    save_provider(provider=provider, actor=operator_actor(operator), client_secret=form.secret())
    fields = ", ".join(str(form.fields[name].label or name).lower() for name in form.changed_data)
    log_act(
        operator=operator,
        model=IdentityProvider,
        pk=str(provider.pk),
        name=provider.name,
        flag=ADDITION if is_new else CHANGE,
        message=f"{'Add' if is_new else 'Edit'} provider: {fields or 'no change'}.",
    )
