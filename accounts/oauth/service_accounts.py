"""Service accounts: clients that get tokens for an account by a secret (RFC 6749, 4.4) or a key pair (RFC 7523). Callers
check that the person is an admin."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.keys import new_secret
from accounts.models import Account, OAuthAccessToken, OAuthApplication, OAuthConnection, ServiceAccount
from accounts.oauth.client_keys import NO_KEYS, parse_keys
from accounts.oauth.clients import new_client_id
from accounts.reader_limits import assign_limit
from accounts.scoping import account_scope, existing, lock_account
from finops.lib import clock
from finops.lib.errors import UserError

PREFIX = "fsas_"
MAX_SERVICE_ACCOUNTS = 200


@transaction.atomic
def create_service_account(
    *,
    account: Account,
    actor: Actor,
    name: str,
    access: str = OAuthConnection.Access.READ,
    expires_at: datetime | None = None,
    limit: str = "",
    keys: str = "",
) -> tuple[ServiceAccount, str]:
    """Create a service account and return it with its client secret, which is not stored. With `keys`, a text that `parse_keys`
    reads, it has no secret: empty. `limit` is a choice of `reader_limits`; empty: none.

    Raises ValidationError for an invalid or taken name and an unknown access, UserError for an expiry in the past, an
    unknown limit, keys that cannot be used and beyond 200 service accounts.
    """
    if expires_at is not None and expires_at <= clock.now():
        raise UserError("The expiry is in the past. Choose a later day, or none.", field="expires_at")
    client_keys = parse_keys(keys) if keys else NO_KEYS
    lock_account(account)
    with account_scope(account):
        if ServiceAccount.objects.count() >= MAX_SERVICE_ACCOUNTS:
            raise UserError(f"The maximum is {MAX_SERVICE_ACCOUNTS} service accounts. Delete one first.")
        row = ServiceAccount(
            account=account,
            name=name.strip(),
            created_by=actor.user,
            created_by_label=actor.label,
            expires_at=expires_at,
            public_keys=client_keys.jwks,
            jwks_url=client_keys.url,
        )
        row.full_clean(exclude=["connection"])
        secret = "" if row.has_keys else new_secret(PREFIX)[0]
        connection = OAuthConnection(
            account=account, application=_create_client(row.name, secret), access=access
        )
        connection.full_clean(validate_unique=False)
        connection.save(force_insert=True)
        row.connection = connection
        row.save(force_insert=True)
    _record(row, actor, "create", {"key": client_keys.label} if row.has_keys else {})
    assign_limit(connection, limit, actor)
    return row, secret


def _create_client(name: str, secret: str) -> OAuthApplication:
    application = OAuthApplication(
        name=name,
        client_id=new_client_id(),
        client_secret=secret,
        client_type=OAuthApplication.CLIENT_CONFIDENTIAL,
        authorization_grant_type=OAuthApplication.GRANT_CLIENT_CREDENTIALS,
    )
    application.save(force_insert=True)
    return application


@transaction.atomic
def rotate_secret(*, service_account: ServiceAccount, actor: Actor) -> str:
    """Replace the client secret and return the new one, which is not stored. The old one and every token end at once.

    Raises UserError if the service account was deleted meanwhile, or has keys in place of a secret.
    """
    with account_scope(service_account.account):
        row = _lock(service_account)
        if row.has_keys:
            raise UserError("This service account has a key and no secret. Replace its key.")
        secret, _lookup = new_secret(PREFIX)
        _replace_credential(row, secret)
    _record(row, actor, "rotate_secret")
    return secret


@transaction.atomic
def replace_keys(*, service_account: ServiceAccount, actor: Actor, keys: str) -> ServiceAccount:
    """Replace the secret or keys of a service account by these keys, a text for `parse_keys`. Every token ends at
    once.

    Raises UserError for keys that cannot be used, and if the service account was deleted meanwhile.
    """
    client_keys = parse_keys(keys)
    with account_scope(service_account.account):
        row = _lock(service_account)
        row.public_keys, row.jwks_url = client_keys.jwks, client_keys.url
        row.full_clean(exclude=["connection"])
        _replace_credential(row, "")
    _record(row, actor, "replace_key", {"key": client_keys.label})
    return row


def _lock(service_account: ServiceAccount) -> ServiceAccount:
    rows = ServiceAccount.objects.select_for_update(of=("self",)).select_related(
        "account", "connection__application"
    )
    return existing(rows, service_account, "service account")


def _replace_credential(row: ServiceAccount, secret: str) -> None:
    """Store the secret and end every token. An empty secret is always refused (`Validator._check_secret`)."""
    application = row.connection.application
    application.client_secret = secret
    application.save(update_fields=["client_secret", "updated"])
    OAuthAccessToken.objects.filter(connection=row.connection).delete()
    row.rotated_at = clock.now()
    row.save(update_fields=["rotated_at", "public_keys", "jwks_url"])


@transaction.atomic
def delete_service_account(*, service_account: ServiceAccount, actor: Actor, reason: str = "") -> None:
    """Delete a service account with its client: its tokens are refused from the next request on, in every process.
    Idempotent."""
    row = (
        ServiceAccount.objects.unscoped()  # by primary key
        .select_for_update(of=("self",))
        .select_related("account", "connection__application")
        .filter(pk=service_account.pk)
        .first()
    )
    if row is None:
        return
    _record(row, actor, "delete", {"reason": reason} if reason else {})
    row.connection.application.delete()


def _record(row: ServiceAccount, actor: Actor, verb: str, detail: dict[str, str] | None = None) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=f"service_account.{verb}",
        target=row.name,
        detail={
            "id": row.pk,
            "access": row.connection.access,
            "client_id": row.connection.application.client_id,
            **(detail or {}),
        },
    )
