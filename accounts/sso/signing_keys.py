"""Signing keys of OpenID Connect providers, kept for an hour: assertions arrive more often than people sign in."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from django.core import signing
from django.core.cache import cache
from joserfc.jwk import KeySet

from accounts.sso.models import IdentityProvider
from accounts.sso.oidc import discover, fetch_keys
from finops.lib.errors import UserError

KEPT_SECONDS: Final = 3_600
RETRY_SECONDS: Final = 60


def signing_keys(provider: IdentityProvider, key_id: str) -> KeySet:
    """The provider's keys: those kept, or new ones where none of them has the ID. Asks the provider once a minute at most.

    Raises UserError where it does not answer and nothing is kept.
    """
    kept = _read(provider)
    if kept is not None and (not key_id or any(key.kid == key_id for key in kept.keys)):
        return kept
    name = f"sso-keys-fetch:{provider.pk}"
    if not cache.add(name, True, timeout=RETRY_SECONDS):
        if kept is not None:
            return kept
        raise UserError(f"{provider.name} did not answer. Try again in a minute.")
    keys = fetch_keys(discover(provider.issuer))
    # Signed: otherwise write access to the cache would be enough to sign in as anybody.
    cache.set(
        cache_name(provider), signing.dumps(keys.as_dict(private=False), salt=_salt(provider)), KEPT_SECONDS
    )
    return keys


def _read(provider: IdentityProvider) -> KeySet | None:
    try:
        values: Any = signing.loads(
            cache.get(cache_name(provider), ""), salt=_salt(provider), max_age=KEPT_SECONDS
        )
    except signing.BadSignature:
        return None
    return KeySet.import_key_set(values)


def cache_name(provider: IdentityProvider) -> str:
    """Where the keys of this provider and issuer are kept."""
    return f"sso-keys:{provider.pk}:{hashlib.sha256(provider.issuer.encode()).hexdigest()}"


def _salt(provider: IdentityProvider) -> str:
    """Of this provider and issuer alone: keys of another do not pass for its own."""
    return f"sso keys {provider.pk} {provider.issuer}"
