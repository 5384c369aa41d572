"""OAuth tokens: their form, their lookup, and the rotation of refresh tokens.

`foat_…` is an access token, `fort_…` a refresh token, each with 256 random bits; only their SHA-256 is stored.

A refresh token works once, and for REPLAY_SECONDS after its use it gives the same successors again: clients retry,
two processes of one client share a token store, a response gets lost. A token used within that time leads to the
newest pair of its family; a later use counts as theft. Rotation derives both successors from the old refresh token
and a random salt that is stored for that time: the holder of the old token gets the same response again, and the
database alone reveals no token. See docs/adr/0008-the-oauth-authorization-server-is-ours.md.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery

from accounts.models import (
    Membership,
    OAuthAccessToken,
    OAuthApplication,
    OAuthConnection,
    OAuthRefreshToken,
)
from accounts.oauth.provider import REPLAY_SECONDS
from accounts.security.mfa import has_second_factor
from finops.lib import clock

ACCESS_PREFIX, REFRESH_PREFIX = "foat_", "fort_"
_RANDOM_LENGTH = 43  # of 32 bytes in base64url


def new_access_token(request: object = None) -> str:
    return ACCESS_PREFIX + secrets.token_urlsafe(32)


def new_refresh_token(request: object = None) -> str:
    return REFRESH_PREFIX + secrets.token_urlsafe(32)


def new_salt() -> bytes:
    return secrets.token_bytes(32)


def successors(old_refresh_token: str, salt: bytes) -> tuple[str, str]:
    """Return the access and the refresh token that follow a refresh token; the same salt always gives the same
    tokens."""
    return (
        ACCESS_PREFIX + _derive(b"access", old_refresh_token, salt),
        REFRESH_PREFIX + _derive(b"refresh", old_refresh_token, salt),
    )


def _derive(kind: bytes, old: str, salt: bytes) -> str:
    message = b"\0".join((b"oauth successor", kind, bytes(salt), old.encode()))
    digest = hmac.new(settings.KEY_PEPPER.encode(), message, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def checksum(token: str) -> str:
    """Return the hash that is stored of a token or code and by which it is looked up."""
    return hashlib.sha256(token.encode()).hexdigest()


def looks_like(token: str, prefix: str) -> bool:
    """Return whether the text has the form of a token, so that a query is worthwhile."""
    return token.startswith(prefix) and len(token) == len(prefix) + _RANDOM_LENGTH and token.isascii()


# A client whose concurrent requests all failed may refresh several times; each step costs a query.
MAX_STEPS = 5


@dataclasses.dataclass(frozen=True)
class Replay:
    """The newest tokens that follow a rotated refresh token."""

    access_token: str
    refresh_token: str
    row: OAuthAccessToken

    def answer(self) -> dict[str, Any]:
        remaining_seconds = max(0, int((self.row.expires - clock.now()).total_seconds()))
        return {
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "expires_in": remaining_seconds,
            "scope": self.row.scope,
        }


def lock_connection(issued: QuerySet[Any]) -> OAuthConnection | None:
    """Lock the connection of a code or token until the transaction ends, and return it with the person's current
    `role`, `joined_at` and `has_second_factor`. Read the token's row after this call."""
    membership = Membership.objects.filter(account=OuterRef("account_id"), user=OuterRef("user_id"))
    return (
        OAuthConnection.objects.unscoped()  # the token's hash identifies the account
        .select_for_update(of=("self",))
        .select_related("user", "application", "account")
        .annotate(
            role=Subquery(membership.values("role")),
            joined_at=Subquery(membership.values("created_at")),
            has_second_factor=has_second_factor("user_id"),
        )
        .filter(pk__in=issued.values("connection_id"))
        .first()
    )


def lock_service_account(application: OAuthApplication) -> OAuthConnection | None:
    """Lock the connection of a service account's client until the transaction ends, and return it; None if it does
    not exist."""
    return (
        OAuthConnection.objects.unscoped()  # the authenticated client identifies the account
        .select_for_update(of=("self",))
        .select_related("application", "account", "service_account")
        .filter(application=application, user=None, service_account__isnull=False)
        .first()
    )


def rotate(old: OAuthRefreshToken, plaintext: str) -> tuple[str, str]:
    """Mark the refresh token as used and return the access and refresh token that follow."""
    old.revoked, old.replay_salt = clock.now(), new_salt()
    old.save(update_fields=["revoked", "replay_salt", "updated"])
    return successors(plaintext, old.replay_salt)


def replay(used: OAuthRefreshToken, plaintext: str) -> Replay | None:
    """Return the newest pair that follows a refresh token used within REPLAY_SECONDS; None after that."""
    if used.revoked is None or used.revoked + timedelta(seconds=REPLAY_SECONDS) <= clock.now():
        return None
    row: OAuthRefreshToken | None = used
    for _step in range(MAX_STEPS):
        if row is None or row.replay_salt is None:
            return None
        access, plaintext = successors(plaintext, bytes(row.replay_salt))
        row = (
            OAuthRefreshToken.objects.select_related("access_token")
            .filter(token_checksum=checksum(plaintext), connection=used.connection_id)
            .first()
        )
        if row is not None and row.revoked is None:
            return None if row.access_token is None else Replay(access, plaintext, row.access_token)
    return None
