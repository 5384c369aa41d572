"""The form by which operators add clients of an identity provider of the whole service (ID-JAG)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from django.conf import settings
from django.contrib.admin.models import ADDITION
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods

from accounts.forms import FormErrors
from accounts.models import User
from accounts.oauth.resource import issuer
from accounts.security.reauthentication import reauthenticate_first
from accounts.sso.assertion_clients import add_assertion_client
from accounts.sso.forms import ServiceClientForm
from accounts.sso.models import AssertionClient, IdentityProvider
from accounts.sso.queries import providers_of
from finops.operations.actions import log_act, operator_actor
from finops.operations.catalog import entries, group_of
from finops.operations.links import list_href, row_href

if TYPE_CHECKING:
    from finops.operations.site import OperatorSite

_METHODS: Final = ["GET", "HEAD", "POST"]


def assertion_client_urls(site: OperatorSite) -> list[URLPattern]:
    """URL to add a client, for operators who may act; 404 for others."""

    @require_http_methods(_METHODS)
    def new(request: HttpRequest, provider_id: int) -> HttpResponse:
        rows = providers_of(None).filter(protocol=IdentityProvider.Protocol.OIDC)
        return _form_page(site, request, get_object_or_404(rows, pk=provider_id))

    address = "sso/identityprovider/<int:provider_id>/clients/new/"
    return [path(address, site.admin_view(new), name="assertion_client_new")]


def _form_page(site: OperatorSite, request: HttpRequest, provider: IdentityProvider) -> HttpResponse:
    if not site.may_act(request):
        raise Http404("no operator who acts")
    form = ServiceClientForm(request.POST if request.method == "POST" else None)
    context = {
        **site.each_context(request),
        "title": f"Add client of {provider.name}",
        "group": group_of(IdentityProvider),
        "entry": next(each for each in entries() if each.model is IdentityProvider),
        "list_href": list_href(IdentityProvider),
        "row": provider,
        "provider": provider,
        "form": form,
        "issuer": issuer(),
        "provider_href": row_href(provider),
    }
    if request.method == "POST" and form.is_valid():
        reauthenticate_first(request)
        with FormErrors(form):
            client, secret = _add(provider, form.cleaned_data, cast(User, request.user))
            shown = {
                "title": client.name,
                "client_id": client.application.client_id,
                "plaintext": secret,
                "token_url": f"{settings.PUBLIC_URL}/oauth/token",
            }
            return TemplateResponse(request, "operations/assertion_client_secret.html", {**context, **shown})
    status = 422 if form.errors else 200
    return TemplateResponse(request, "operations/assertion_client.html", context, status=status)


@transaction.atomic
def _add(provider: IdentityProvider, values: dict[str, Any], operator: User) -> tuple[AssertionClient, str]:
    """Add the client and an entry of the operator log. Raises ValidationError and UserError as `add_assertion_client`."""
    client, secret = add_assertion_client(
        provider=provider,
        actor=operator_actor(operator),
        name=values["name"],
        access=values["access"],
        account=values["account"],
    )
    log_act(
        operator=operator,
        model=AssertionClient,
        pk=str(client.pk),
        name=client.name,
        flag=ADDITION,
        message=f"Add client of {provider.name}: {client.access}, {client.account or 'the only account of each person'}.",
    )
    return client, secret
