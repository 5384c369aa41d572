"""Rotating refresh tokens: each works once, and for half a minute after gives the same successor again.

Clients race and retry: two processes of one client share a token store, an answer gets lost on the way. So a
refresh token that was used up to REPLAY_SECONDS ago leads to the newest pair of its family. Later it is a theft.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from accounts.models import Membership, OAuthAccessToken, OAuthConnection, OAuthRefreshToken
from accounts.oauth.provider import REPLAY_SECONDS
from accounts.oauth.tokens import checksum, new_salt, successors
from accounts.security.second_factor import has_second_factor
from finops.lib import clock

# A client whose requests all failed at once may refresh a few times over; each step costs a query.
MAX_STEPS = 5


@dataclasses.dataclass(frozen=True)
class Replay:
    """The pair that a rotated refresh token leads to."""

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
    """The connection of a code or token, locked until the transaction ends, with the person's `role` and
    `has_second_factor` of now. Read the row itself after this."""
    return (
        OAuthConnection.objects.unscoped()  # the secret that found it says whose it is
        .select_for_update(of=("self",))
        .select_related("user", "application", "account")
        .annotate(
            role=Subquery(
                Membership.objects.filter(account=OuterRef("account_id"), user=OuterRef("user_id")).values(
                    "role"
                )
            ),
            has_second_factor=has_second_factor("user_id"),
        )
        .filter(pk__in=issued.values("connection_id"))
        .first()
    )


def rotate(old: OAuthRefreshToken, plaintext: str) -> tuple[str, str]:
    """Use the refresh token up; the access and refresh token that follow it."""
    old.revoked, old.replay_salt = clock.now(), new_salt()
    old.save(update_fields=["revoked", "replay_salt", "updated"])
    return successors(plaintext, old.replay_salt)


def replay(used: OAuthRefreshToken, plaintext: str) -> Replay | None:
    """The newest pair that follows a refresh token used a moment ago; None when that is over."""
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
