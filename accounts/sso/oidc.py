"""OpenID Connect: authorization code flow with PKCE, state and nonce; checks of the ID token's signature and claims."""

from __future__ import annotations

import secrets
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from django.conf import settings
from django.urls import reverse
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from accounts.sso.claims import Claims, SignInRefusal, as_texts
from accounts.sso.http import SECONDS, guard
from accounts.sso.models import IdentityProvider
from accounts.sso.secrets import client_secret
from finops.lib.errors import UserError
from finops.lib.outbound import DeliveryTimeout

SCOPE: Final = "openid email profile"
ALGORITHMS: Final = [
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519", "EdDSA"),
]
"""Signature algorithms. No HMAC: its key would be the client secret, and an attacker could use a public key as the
HMAC key."""
LEEWAY_SECONDS: Final = 60
_KNOWN: Final = frozenset({"pwd", "pin", "kba"})
_HELD: Final = frozenset(
    {"otp", "hwk", "swk", "sms", "tel", "sc", "fpt", "face", "iris", "retina", "vbm", "pop"}
)
"""Values of `amr` (RFC 8176): things that a person knows, and things that she has or is."""
_AUTH_METHODS: Final = ("client_secret_basic", "client_secret_post")


def redirect_uri(provider: IdentityProvider) -> str:
    """Return the provider's own redirect URI, so that a code cannot be sent to another provider's token endpoint (RFC
    9700, 4.4). Older providers have the shared URI until an admin switches."""
    if provider.has_own_redirect_uri:
        return own_redirect_uri(provider)
    return settings.PUBLIC_URL + reverse("sso_callback")


def own_redirect_uri(provider: IdentityProvider) -> str:
    return settings.PUBLIC_URL + reverse("sso_callback_of", args=[provider.public_id])


def discover(issuer: str) -> dict[str, Any]:
    """Return the provider's discovery document. Raises UserError with the reason."""
    document = _get_json(issuer.rstrip("/") + "/.well-known/openid-configuration", "Discovery")
    if document.get("issuer") != issuer:
        raise UserError(
            f"Discovery: the provider's issuer is {str(document.get('issuer'))[:200]!r}. Enter it as the issuer URL.",
            field="issuer",
        )
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if urlsplit(str(document.get(name))).scheme not in ("https", urlsplit(issuer).scheme):
            raise UserError(f"Discovery: {name} is missing or no https URL.", field="issuer")
    return document


def begin(provider: IdentityProvider, token: str) -> tuple[str, dict[str, str]]:
    """Return the URL for the redirect and the values to check the response with. `token` is the state. Raises
    UserError."""
    document = discover(provider.issuer)
    state = {"nonce": secrets.token_urlsafe(24), "code_verifier": secrets.token_urlsafe(48)}
    with _session(provider, document) as session:
        url, _state = session.create_authorization_url(
            document["authorization_endpoint"], state=token, **state
        )
    return str(url), state


def finish(provider: IdentityProvider, code: str, state: dict[str, str]) -> Claims:
    """Return the claims of the person for a code. Raises SignInRefusal for a response that fails a check, UserError
    if the provider does not answer."""
    document = discover(provider.issuer)
    with _session(provider, document) as session:
        token = _token(session, document, code, state)
        claims = _id_token(provider, document, token, state["nonce"])
        if userinfo := document.get("userinfo_endpoint"):
            # `amr` counts from the ID token only, which is signed and belongs to this sign-in.
            claims = {**_userinfo(session, str(userinfo), str(claims["sub"])), "amr": [], **claims}
    return _as_claims(provider, claims)


def test_client(provider: IdentityProvider) -> None:
    """Test discovery, keys, and client ID and secret. Raises UserError with the reason. The secret is tested by
    sending a made-up code to the token endpoint."""
    document = discover(provider.issuer)
    fetch_keys(document)
    with _session(provider, document) as session:
        try:
            session.fetch_token(
                document["token_endpoint"], code="test", code_verifier="t" * 43, allow_redirects=False
            )
        except AuthlibBaseError as error:
            if error.error in ("invalid_client", "unauthorized_client"):
                raise UserError(
                    "Token endpoint: the provider does not accept the client ID and secret.",
                    field="client_secret",
                ) from error
        except (UserError, DeliveryTimeout, requests.RequestException, ValueError) as error:
            raise _unreachable("Token endpoint", error) from error


def _session(provider: IdentityProvider, document: dict[str, Any]) -> OAuth2Session:
    secret = client_secret(provider)
    offered = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    method = next((each for each in _AUTH_METHODS if each in offered), _AUTH_METHODS[0]) if secret else "none"
    session = OAuth2Session(
        provider.client_id,
        secret or None,
        scope=SCOPE
        if provider.groups_attribute not in document.get("scopes_supported", [])
        else f"{SCOPE} {provider.groups_attribute}",
        redirect_uri=redirect_uri(provider),
        code_challenge_method="S256",
        token_endpoint_auth_method=method,
    )
    guard(session)
    return session


def _token(
    session: OAuth2Session, document: dict[str, Any], code: str, state: dict[str, str]
) -> dict[str, Any]:
    try:
        token = session.fetch_token(
            document["token_endpoint"],
            code=code,
            code_verifier=state["code_verifier"],
            allow_redirects=False,
        )
    except AuthlibBaseError as error:
        raise SignInRefusal(
            f"The identity provider refused the sign-in: {str(error.error)[:100]}. Start again."
        ) from error
    except (DeliveryTimeout, requests.RequestException, ValueError) as error:
        raise _unreachable("Token endpoint", error) from error
    return dict(token)


def _id_token(
    provider: IdentityProvider, document: dict[str, Any], token: dict[str, Any], nonce: str
) -> dict[str, Any]:
    text = token.get("id_token")
    if not isinstance(text, str):
        raise SignInRefusal("The identity provider sent no ID token.")
    try:
        decoded = jwt.decode(text, fetch_keys(document), algorithms=ALGORITHMS)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
            },
            params={
                "nonce": nonce,
                "client_id": provider.client_id,
                "access_token": token.get("access_token"),
            },
        )
        claims.validate(leeway=LEEWAY_SECONDS)
    except (JoseError, AuthlibBaseError, ValueError, TypeError) as error:
        raise SignInRefusal(
            f"The ID token of the identity provider is not valid: {str(error)[:150]}."
        ) from error
    return dict(claims)


def _userinfo(session: OAuth2Session, url: str, subject: str) -> dict[str, Any]:
    """Return more claims of the person from the UserInfo endpoint."""
    try:
        answer = session.get(url, allow_redirects=False)
        values = answer.json() if answer.status_code == 200 else {}
    except (AuthlibBaseError, DeliveryTimeout, requests.RequestException, ValueError) as error:
        raise _unreachable("UserInfo endpoint", error) from error
    if not isinstance(values, dict) or (values and values.get("sub") != subject):
        raise SignInRefusal("The UserInfo endpoint answered for another person.")
    return values


def _as_claims(provider: IdentityProvider, claims: dict[str, Any]) -> Claims:
    name = provider.groups_attribute
    elsewhere = claims.get("_claim_names")
    groups = None if isinstance(elsewhere, dict) and name in elsewhere else as_texts(claims.get(name, []))
    verified = claims.get("email_verified")
    return Claims(
        subject=str(claims.get("sub") or ""),
        email=str(claims.get("email") or ""),
        email_verified=None if verified is None else verified is True or verified == "true",
        name=str(claims.get("name") or ""),
        groups=groups,
        has_second_factor=names_two_factors(as_texts(claims.get("amr", []))),
    )


def names_two_factors(methods: list[str]) -> bool:
    """Return whether the ID token's `amr` (RFC 8176) proves a second factor: `mfa`, or a thing the person knows and a
    thing she has or is."""
    names = {method.lower() for method in methods}
    return "mfa" in names or bool(names & _KNOWN and names & _HELD)


def fetch_keys(document: dict[str, Any]) -> KeySet:
    """Return the provider's signing keys by its discovery document. Raises UserError."""
    try:
        keys = KeySet.import_key_set(_get_json(str(document["jwks_uri"]), "Keys"))  # type: ignore[arg-type]
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise UserError("Keys: the provider's key set cannot be read.", field="issuer") from error
    if not keys.keys:
        raise UserError("Keys: the provider has no key.", field="issuer")
    return keys


def _get_json(url: str, step: str) -> dict[str, Any]:
    with requests.Session() as session:
        guard(session)
        try:
            answer = session.get(url, allow_redirects=False, timeout=SECONDS)
            values = answer.json() if answer.status_code == 200 else None
        except (UserError, DeliveryTimeout, requests.RequestException, ValueError) as error:
            raise _unreachable(step, error) from error
    if not isinstance(values, dict):
        raise UserError(f"{step}: {url} answered {answer.status_code} without the document.", field="issuer")
    return values


def _unreachable(step: str, error: Exception) -> UserError:
    reason = str(error) if isinstance(error, UserError | DeliveryTimeout) else "the answer cannot be read."
    return UserError(f"{step}: {reason}", field="issuer")
