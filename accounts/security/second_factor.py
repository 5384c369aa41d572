"""Whether a person has a second factor, for accounts that demand one."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.db.models import Exists, OuterRef

KINDS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""Recovery codes alone are none: they come with another."""


def has_second_factor(user: str) -> Exists:
    """For `annotate`, of the person whose id is in the column `user`: no statement of its own."""
    return Exists(Authenticator.objects.filter(user_id=OuterRef(user), type__in=KINDS))
