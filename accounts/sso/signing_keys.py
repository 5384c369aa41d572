"""Signing keys of OpenID Connect providers, cached for an hour: assertions arrive more often than people sign in."""

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
    """Return the provider's cached keys, or fetch new ones if no cached key has the ID. Fetches at most once a
    minute.

    Raises UserError if the provider does not answer and nothing is cached.
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
    """Return the cache key for this provider and issuer."""
    return f"sso-keys:{provider.pk}:{hashlib.sha256(provider.issuer.encode()).hexdigest()}"


def _salt(provider: IdentityProvider) -> str:
    """Return the salt for this provider and issuer, so that a cached signature is not valid for another provider."""
    return f"sso keys {provider.pk} {provider.issuer}"
