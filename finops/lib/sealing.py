"""Secrets that we must be able to read again, sealed in the database: Fernet under keys derived from SECRET_KEY.

What was sealed under a key that is now in SECRET_KEY_FALLBACKS opens still; `is_current` says whether to seal it anew.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from finops.lib.errors import UserError

BEGINNING = "gAAAA"
"""What all sealed text begins with: Fernet's version, and a time before 2106."""


class Unsealable(UserError):
    """It was sealed under a key that is gone, or for another purpose, or is damaged."""


def seal(value: Mapping[str, Any], *, purpose: str) -> str:
    """The value (JSON) as text that says nothing without the key. It opens for the same purpose only: name the row's
    kind and account, so that text copied from one account's row into another's does not open there."""
    return _fernet(settings.SECRET_KEY, purpose).encrypt(msgspec.json.encode(value)).decode()


def unseal(sealed: str, *, purpose: str) -> dict[str, Any]:
    """The value. Raises Unsealable, which says to enter it again."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    try:
        opened = MultiFernet([_fernet(key, purpose) for key in keys]).decrypt(sealed.encode())
    except InvalidToken as error:
        raise Unsealable(
            "The stored secret is unreadable because the server's secret key was replaced. Enter it again.",
            field="target",
        ) from error
    return msgspec.json.decode(opened, type=dict[str, Any])


def is_current(sealed: str, *, purpose: str) -> bool:
    """Whether it was sealed under the key of now, and not under an earlier one."""
    try:
        _fernet(settings.SECRET_KEY, purpose).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


def _fernet(secret: str, purpose: str) -> Fernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=f"finops.lib.sealing:{purpose}".encode())
    return Fernet(base64.urlsafe_b64encode(derived.derive(secret.encode())))
