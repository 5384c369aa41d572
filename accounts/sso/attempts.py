"""Sign-in attempts at a provider. The token is sent as state or RelayState and stored in the browser's session too,
so that a response only counts in the browser that started the attempt."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Final

from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction

from accounts.sso import oidc
from accounts.sso.claims import Claims, SignInRefusal
from accounts.sso.models import IdentityAssertion, IdentityProvider, SamlAssertion, SignInAttempt
from accounts.sso.secrets import seal_state, unseal_state
from finops.lib import clock
from finops.lib.extras import require_extra

LIFETIME: Final = timedelta(minutes=10)
SESSION_KEY: Final = "sign_in_attempts"
_ENDED: Final = "This sign-in has expired or was already used. Start again."


def begin_sign_in(*, provider: IdentityProvider, session: SessionBase, next_url: str) -> str:
    """Start an attempt and return the provider's URL for the redirect. Raises UserError if the provider does not
    answer."""
    token = secrets.token_urlsafe(32)
    url, state = _begin(provider, token)
    SignInAttempt.objects.create(
        provider=provider,
        token_digest=_digest(token),
        sealed_state=seal_state(dict(state)),
        next_url=next_url[:2000],
        expires_at=clock.now() + LIFETIME,
    )
    session[SESSION_KEY] = [*session.get(SESSION_KEY, [])[-4:], token]
    return url


def _begin(provider: IdentityProvider, token: str) -> tuple[str, dict[str, str]]:
    if provider.protocol == IdentityProvider.Protocol.OIDC:
        return oidc.begin(provider, token)
    require_extra("SAML")
    from accounts.sso import saml

    return saml.begin(provider, token)


def is_of_browser(token: str, session: SessionBase) -> bool:
    return bool(token) and token in session.get(SESSION_KEY, [])


def attempt_of(token: str) -> SignInAttempt:
    """Return the unused, unexpired attempt of a token. Raises SignInRefusal if there is none."""
    rows = SignInAttempt.objects.select_related("provider__account")
    attempt = rows.filter(token_digest=_digest(token), expires_at__gt=clock.now()).first()
    if attempt is None:
        raise SignInRefusal(_ENDED)
    return attempt


def state_of(attempt: SignInAttempt) -> dict[str, str]:
    return {name: str(value) for name, value in unseal_state(attempt.sealed_state).items()}


def use_attempt(attempt: SignInAttempt) -> None:
    """Delete the attempt before its response is checked. Raises SignInRefusal if a concurrent request already used
    it."""
    if not SignInAttempt.objects.filter(pk=attempt.pk).delete()[0]:
        raise SignInRefusal(_ENDED)


@transaction.atomic
def keep_claims(attempt: SignInAttempt, claims: Claims) -> None:
    """Store the claims until the browser follows. Raises SignInRefusal if the attempt already has claims."""
    sealed = seal_state(claims.as_dict())
    if not SignInAttempt.objects.filter(pk=attempt.pk, sealed_identity="").update(sealed_identity=sealed):
        raise SignInRefusal(_ENDED)


def kept_claims(attempt: SignInAttempt) -> Claims:
    """Return the claims that SAML stored. Raises SignInRefusal if there are none."""
    if not attempt.sealed_identity:
        raise SignInRefusal(_ENDED)
    return Claims.from_dict(unseal_state(attempt.sealed_identity))


def sweep() -> None:
    """Delete expired attempts and used assertions that have expired."""
    SignInAttempt.objects.filter(expires_at__lt=clock.now()).delete()
    SamlAssertion.objects.filter(expires_at__lt=clock.now()).delete()
    IdentityAssertion.objects.filter(expires_at__lt=clock.now()).delete()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
