"""The client secret of a provider, encrypted for its row."""

from __future__ import annotations

from accounts.sso.models import IdentityProvider
from finops.lib import sealing


def _purpose(provider: IdentityProvider) -> str:
    return f"identity provider {provider.public_id}"


def seal_client_secret(provider: IdentityProvider, secret: str) -> None:
    provider.sealed_client_secret = (
        sealing.seal({"client_secret": secret}, purpose=_purpose(provider)) if secret else ""
    )


def client_secret(provider: IdentityProvider) -> str:
    """Return the client secret. Raises Unsealable if the key that encrypted it is gone."""
    if not provider.sealed_client_secret:
        return ""
    return str(sealing.unseal(provider.sealed_client_secret, purpose=_purpose(provider))["client_secret"])


def seal_state(values: dict[str, object]) -> str:
    """Encrypt the state of an attempt or the claims of a person."""
    return sealing.seal(values, purpose="sign-in attempt")


def unseal_state(sealed: str) -> dict[str, object]:
    return sealing.unseal(sealed, purpose="sign-in attempt")
