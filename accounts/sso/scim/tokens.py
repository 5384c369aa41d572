"""SCIM tokens: create, revoke, authenticate. They are built as MCP keys are (accounts/keys.py), with a different
prefix. A provider has at most two valid tokens: create the second, enter it at the provider, revoke the first."""

from __future__ import annotations

import dataclasses
import hmac
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from accounts import audit
from accounts.audit import Actor
from accounts.keys import digest_of, lookup_of, new_secret
from accounts.models import Account
from accounts.sso.models import IdentityProvider, ScimToken
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.extras import require_extra

PREFIX: Final = "fscm_"
MAX_TOKENS: Final = 2


@dataclasses.dataclass(frozen=True, slots=True)
class ScimCredential:
    """A valid token and its provider."""

    token_id: int
    provider: IdentityProvider
    account: Account


def authenticate_scim_token(plaintext: str) -> ScimCredential | None:
    """Return the credential of a valid token; None for any other text. One statement, none if the text cannot be a
    token. Call `note_use` once the request's path belongs to the token's provider."""
    lookup = lookup_of(plaintext, PREFIX)
    if lookup is None:
        return None
    digest = digest_of(plaintext)
    # Unscoped: the token identifies the account.
    rows = ScimToken.objects.unscoped().select_related("provider", "account")
    token = rows.filter(lookup=lookup, revoked_at=None).first()
    if token is None or not hmac.compare_digest(bytes(token.digest), digest):
        return None
    return ScimCredential(token_id=token.pk, provider=token.provider, account=token.account)


def note_use(credential: ScimCredential) -> None:
    # Unscoped: the row of the credential.
    ScimToken.objects.unscoped().filter(pk=credential.token_id).update(last_used_at=clock.now())


@transaction.atomic
def create_scim_token(
    *, provider: IdentityProvider, actor: Actor, living: int | None = None
) -> tuple[ScimToken, str]:
    """Create a token and return it with its plaintext, which is not stored. `living` is the number of valid tokens
    that the caller expects. Raises UserError without the package for SCIM, for another number, for a provider of the whole service, and beyond two
    valid tokens."""
    require_extra("SCIM")
    account = _account_of(provider)
    IdentityProvider.objects.select_for_update().get(pk=provider.pk)
    count = living_tokens(provider).count()
    if living not in (None, count):
        raise UserError(
            "A token was created or revoked meanwhile, and a token is shown only once. If nobody copied it, revoke it and "
            "create a new one."
        )
    if count >= MAX_TOKENS:
        raise UserError(f"The maximum is {MAX_TOKENS} tokens. Revoke the earlier one first.")
    plaintext, lookup = new_secret(PREFIX)
    token = ScimToken(
        account=account,
        provider=provider,
        lookup=lookup,
        digest=digest_of(plaintext),
        created_by=actor.user,
        created_by_label=actor.label[:254],
    )
    token.save(force_insert=True)
    _record(provider, account, actor, "create", token)
    return token, plaintext


@transaction.atomic
def revoke_scim_token(*, token: ScimToken, actor: Actor) -> None:
    """Revoke a token; it is refused from the next request on. Idempotent."""
    rows = ScimToken.objects.unscoped()  # unscoped: the caller looked the token up in its account
    if rows.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.now()):
        _record(token.provider, token.account, actor, "revoke", token)


def living_tokens(provider: IdentityProvider) -> QuerySet[ScimToken]:
    # Unscoped: of the caller's provider.
    return ScimToken.objects.unscoped().filter(provider=provider, revoked_at=None)


def _account_of(provider: IdentityProvider) -> Account:
    if provider.account is None:
        raise UserError("A provider of the whole service has no SCIM.")
    return provider.account


def _record(provider: IdentityProvider, account: Account, actor: Actor, verb: str, token: ScimToken) -> None:
    audit.record(
        account=account,
        actor=actor,
        action=f"scim_token.{verb}",
        target=provider.name,
        detail={"id": token.pk, "token": token.masked_token},
    )
