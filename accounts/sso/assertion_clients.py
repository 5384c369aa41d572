"""Clients whose access the identity provider controls (ID-JAG). Callers check that the person is an admin."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.keys import new_secret
from accounts.models import Account, OAuthAccessToken, OAuthApplication, OAuthConnection
from accounts.oauth.clients import new_client_id
from accounts.oauth.identity_assertions import GRANT_TYPE
from accounts.oauth.services import delete_client, disconnect
from accounts.sso.models import AssertionClient, IdentityProvider
from finops.lib.errors import UserError

MAX_CLIENTS: Final = 20
MAX_SERVICE_CLIENTS: Final = 500
PREFIX: Final = "fsas_"


@transaction.atomic
def add_assertion_client(
    *,
    provider: IdentityProvider,
    actor: Actor,
    name: str,
    access: str = OAuthConnection.Access.READ,
    account: Account | None = None,
) -> tuple[AssertionClient, str]:
    """Add a client and return it with its secret, which is not stored. `account` binds a client of a provider of the
    whole service to one account; without it, a token is of the only account of its person.

    Raises UserError for a provider by SAML and beyond 20 clients (500 of a provider of the whole service),
    ValidationError for a name that is empty or taken, an unknown access, and an account beside that of the provider.
    """
    provider = IdentityProvider.objects.select_for_update(of=("self",)).get(pk=provider.pk)
    if provider.protocol != IdentityProvider.Protocol.OIDC:
        raise UserError("Only an OpenID Connect provider can sign identity assertions.")
    most = MAX_SERVICE_CLIENTS if provider.account_id is None else MAX_CLIENTS
    if provider.assertion_clients.count() >= most:
        raise UserError(f"The maximum is {most} clients. Remove one first.", field="name")
    row = AssertionClient(
        provider=provider, name=name.strip(), account=account, access=access, created_by_label=actor.label
    )
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
        AssertionClient.objects.select_related("provider__account", "account", "application")
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


def end_assertion_tokens(provider: IdentityProvider) -> None:
    """End the tokens of the provider's clients at once, but keep clients and connections. Used when a provider is
    disabled."""
    OAuthAccessToken.objects.filter(connection__application__assertion_client__provider=provider).delete()


def _record(row: AssertionClient, actor: Actor, verb: str) -> None:
    """Record the action in the audit log of the client's account. Without one, the operator log has it."""
    account = row.provider.account or row.account
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
