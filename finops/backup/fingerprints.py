"""Fingerprints of the keys that a backup does not contain: a restore detects at once when its server has other keys."""

from __future__ import annotations

import hashlib
import secrets

from django.conf import settings

from finops.backup.records import KeyFingerprints


def current_fingerprints(salt: str = "") -> KeyFingerprints:
    """Return the fingerprints of this server's SECRET_KEY and KEY_PEPPER. They use scrypt, so that a backup does not allow
    cheap guesses of weak keys."""
    salt = salt or secrets.token_hex(16)
    return KeyFingerprints(
        salt, _fingerprint(settings.SECRET_KEY, salt), _fingerprint(settings.KEY_PEPPER, salt)
    )


def differing_keys(of_backup: KeyFingerprints) -> list[str]:
    """The names of this server's keys that differ from those of the backup; an earlier SECRET_KEY counts as equal."""
    secret_keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    matches = {
        "SECRET_KEY": any(_fingerprint(key, of_backup.salt) == of_backup.secret_key for key in secret_keys),
        "KEY_PEPPER": _fingerprint(settings.KEY_PEPPER, of_backup.salt) == of_backup.key_pepper,
    }
    return [name for name, is_same in matches.items() if not is_same]


def _fingerprint(key: str, salt: str) -> str:
    return hashlib.scrypt(key.encode(), salt=salt.encode(), n=2**14, r=8, p=1, dklen=16).hex()
