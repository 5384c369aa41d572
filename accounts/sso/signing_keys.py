"""Key sets fetched from others, cached for an hour: assertions arrive more often than people sign in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
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
    """Return the keys of an OpenID Connect provider. See `kept_keys`."""
    return kept_keys(
        cache_name(provider),
        key_id,
        lambda: fetch_keys(discover(provider.issuer)),
        f"{provider.name} did not answer. Try again in a minute.",
    )


def kept_keys(name: str, key_id: str, fetch: Callable[[], KeySet], unavailable: str) -> KeySet:
    """Return the keys cached under the name, or fetch new ones if no cached key has the ID; an empty ID matches any key. Fetches at
    most once a minute.

    Raises UserError, with the text `unavailable` or that of `fetch`, if nothing is cached and no keys can be fetched.
    """
    cached = _read(name)
    if cached is not None and (not key_id or any(key.kid == key_id for key in cached.keys)):
        return cached
    if not cache.add(f"{name}:fetch", True, timeout=RETRY_SECONDS):
        if cached is not None:
            return cached
        raise UserError(unavailable)
    keys = fetch()
    # Signed: otherwise write access to the cache would be enough to sign in as anybody.
    cache.set(name, signing.dumps(keys.as_dict(private=False), salt=name), KEPT_SECONDS)
    return keys


def _read(name: str) -> KeySet | None:
    try:
        values: Any = signing.loads(cache.get(name, ""), salt=name, max_age=KEPT_SECONDS)
    except signing.BadSignature:
        return None
    return KeySet.import_key_set(values)


def cache_name(provider: IdentityProvider) -> str:
    """Return the cache key for this provider and issuer. It is also the salt of the signature, so that a cached signature is not
    valid for another provider."""
    return f"sso-keys:{provider.pk}:{hashlib.sha256(provider.issuer.encode()).hexdigest()}"
