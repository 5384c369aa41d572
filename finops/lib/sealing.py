"""Encryption of secrets that must be readable again, for the database: Fernet under keys derived from SECRET_KEY.

Text sealed under a key that is now in SECRET_KEY_FALLBACKS can still be unsealed; `is_current` says whether to seal it again.
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
"""The prefix of all sealed text: Fernet's version, and a time before 2106."""


class Unsealable(UserError):
    """The text was sealed under a key that no longer exists, or for another purpose, or is damaged."""


def seal(value: Mapping[str, Any], *, purpose: str) -> str:
    """Encrypt the value (JSON). It can be unsealed for the same purpose only: name the row's kind and account, so that text
    copied from one account's row into another's cannot be unsealed there."""
    return _fernet(settings.SECRET_KEY, purpose).encrypt(msgspec.json.encode(value)).decode()


def unseal(sealed: str, *, purpose: str) -> dict[str, Any]:
    """Return the decrypted value. Raises Unsealable, whose message says to enter the value again."""
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
    """Whether the text was sealed under the current key, not under an earlier one."""
    try:
        _fernet(settings.SECRET_KEY, purpose).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


def _fernet(secret: str, purpose: str) -> Fernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=f"finops.lib.sealing:{purpose}".encode())
    return Fernet(base64.urlsafe_b64encode(derived.derive(secret.encode())))
