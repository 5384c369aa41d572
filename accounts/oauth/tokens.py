"""OAuth tokens: how they look, how they are found, and how a rotated one gives its successor again.

`foat_…` is an access token, `fort_…` a refresh token, each with 256 random bits; only their SHA-256 is stored.

Rotation derives both successors from the old refresh token and a random salt that its row keeps for a short while:
whoever holds the old token gets the same answer again (a retry, or two processes of one client), and the database
alone gives nothing. See docs/adr/0008-oauth.md.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from django.conf import settings

ACCESS_PREFIX, REFRESH_PREFIX = "foat_", "fort_"
_RANDOM_LENGTH = 43  # of 32 bytes in base64url


def new_access_token(request: object = None) -> str:
    return ACCESS_PREFIX + secrets.token_urlsafe(32)


def new_refresh_token(request: object = None) -> str:
    return REFRESH_PREFIX + secrets.token_urlsafe(32)


def new_salt() -> bytes:
    return secrets.token_bytes(32)


def successors(old_refresh_token: str, salt: bytes) -> tuple[str, str]:
    """The access and the refresh token that follow this refresh token: always the same for the same salt."""
    return (
        ACCESS_PREFIX + _derive(b"access", old_refresh_token, salt),
        REFRESH_PREFIX + _derive(b"refresh", old_refresh_token, salt),
    )


def _derive(kind: bytes, old: str, salt: bytes) -> str:
    message = b"\0".join((b"oauth successor", kind, bytes(salt), old.encode()))
    digest = hmac.new(settings.KEY_PEPPER.encode(), message, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def checksum(token: str) -> str:
    """What is stored of a token or code, and what finds it."""
    return hashlib.sha256(token.encode()).hexdigest()


def looks_like(token: str, prefix: str) -> bool:
    """Whether asking the database is worth it."""
    return token.startswith(prefix) and len(token) == len(prefix) + _RANDOM_LENGTH and token.isascii()
