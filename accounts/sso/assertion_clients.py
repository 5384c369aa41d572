"""Clients whose access the identity provider controls (ID-JAG). Callers check that the person is an admin."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.keys import new_secret
from accounts.models import OAuthApplication, OAuthConnection
from accounts.oauth.clients import new_client_id
from accounts.oauth.identity_assertions import GRANT_TYPE
from accounts.oauth.services import delete_client, disconnect
from accounts.sso.models import AssertionClient, IdentityProvider
from finops.lib.errors import UserError

MAX_CLIENTS: Final = 20
PREFIX: Final = "fsas_"


@transaction.atomic
def add_assertion_client(
    *, provider: IdentityProvider, actor: Actor, name: str, access: str = OAuthConnection.Access.READ
) -> tuple[AssertionClient, str]:
    """Add a client and return it with its secret, which is not stored.

    Raises UserError for a provider by SAML or of the whole service and beyond 20 clients, ValidationError for a name that is
    empty or taken and an unknown access.
    """
    provider = IdentityProvider.objects.select_for_update(of=("self",)).get(pk=provider.pk)
    if provider.account is None or provider.protocol != IdentityProvider.Protocol.OIDC:
        raise UserError("Only an OpenID Connect provider of an account can sign identity assertions.")
    if provider.assertion_clients.count() >= MAX_CLIENTS:
        raise UserError(f"The maximum is {MAX_CLIENTS} clients. Remove one first.", field="name")
    row = AssertionClient(provider=provider, name=name.strip(), access=access, created_by_label=actor.label)
    row.full_clean(exclude=["application"])
    secret, _lookup = new_secret(PREFIX)
    row.application = OAuthApplication.objects.create(
        name=row.name,
        client_id=new_client_id(),
        client_secret=secret,
        client_type=OAuthApplication.CLIENT_CONFIDENTIAL,
        authorization_grant_type=GRANT_TYPE,
    )
    row.save(force_insert=True)
    _record(row, actor, "add")
    return row, secret


@transaction.atomic
def remove_assertion_client(*, client: AssertionClient, actor: Actor) -> None:
    """Remove a client and end all connections through it at once. Idempotent."""
    row = (
        AssertionClient.objects.select_related("provider__account", "application")
        .filter(pk=client.pk)
        .first()
    )
    if row is None:
        return
    _record(row, actor, "remove")
    delete_client(application=row.application, actor=actor)


def remove_assertion_clients(provider: IdentityProvider, actor: Actor) -> None:
    """Remove all clients of a provider, in the transaction that deletes it."""
    for client in provider.assertion_clients.all():
        remove_assertion_client(client=client, actor=actor)


def end_assertion_connections(provider: IdentityProvider, actor: Actor) -> None:
    """End all connections through the provider's clients, but keep the clients. Used when a provider's issuer
    changes."""
    rows = OAuthConnection.objects.unscoped().filter(application__assertion_client__provider=provider)
    for connection in rows:
        disconnect(connection=connection, actor=actor, reason="the identity provider changed")


def _record(row: AssertionClient, actor: Actor, verb: str) -> None:
    account = row.provider.account
    if account is None:
        return
    audit.record(
        account=account,
        actor=actor,
        action=f"assertion_client.{verb}",
        target=row.name,
        detail={
            "provider": row.provider.name,
            "access": row.access,
            "client_id": row.application.client_id,
        },
    )
