"""Client authentication by a signed JWT in place of a secret: `private_key_jwt` (RFC 7523, 2.2; ADR 0104)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn

from django.db.models import Q
from django.urls import reverse
from joserfc import jws, jwt
from joserfc.errors import JoseError
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749 import errors

from accounts.models import ClientAssertion, OAuthApplication, ServiceAccount
from accounts.oauth.client_keys import PublicKey, verification_keys
from accounts.oauth.error_text import plain
from accounts.oauth.resource import issuer
from finops.lib import clock
from finops.lib.errors import UserError

METHOD: Final = "private_key_jwt"
TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ALGORITHMS: Final = ["RS256", "ES256", "EdDSA", "Ed25519"]
"""Asymmetric algorithms only: `none` is no signature, and under HMAC the public key would work as the secret."""
MAX_LIFETIME: Final = timedelta(minutes=5)
LEEWAY: Final = timedelta(seconds=60)
LONGEST: Final = 16_384
MAX_TEXT: Final = 255
PARAMETERS: Final = ("client_assertion", "client_assertion_type")
_KEY_TYPES: Final = {"RS256": "RSA", "ES256": "EC", "EdDSA": "OKP", "Ed25519": "OKP"}
_NOT_SIGNED: Final = (
    "The client assertion is not signed by a key of this client. Check the client ID and the key."
)


def has_assertion(request: Request) -> bool:
    parameters = vars(request)["_params"]
    return any(parameters.get(name) for name in PARAMETERS)


def authenticate(request: Request) -> OAuthApplication:
    """Return the client of the service account that signed the request's assertion, and mark the assertion as used.

    Raises errors of oauthlib: `invalid_client` with the reason, `invalid_request` for a second way of authentication,
    and `temporarily_unavailable` if the JWKS URL does not answer.
    """
    parameters = vars(request)["_params"]
    if parameters.get("client_secret") or "Authorization" in request.headers:
        raise errors.InvalidRequestError(
            description="Authenticate by a client assertion or by a secret, not both.", request=request
        )
    text = parameters.get("client_assertion")
    if parameters.get("client_assertion_type") != TYPE or not isinstance(text, str):
        _refuse(f"Send client_assertion, and as client_assertion_type {TYPE}.", request)
    service_account, claims = _signed_claims(text, request)
    client_id = service_account.connection.application.client_id
    if {claims.get("iss"), claims.get("sub"), parameters.get("client_id") or client_id} != {client_id}:
        _refuse("The client assertion must have the client ID as iss and sub.", request)
    _check_audience(claims, request)
    ends = _check_times(claims, request)
    _use_up(claims, service_account, ends, request)
    return service_account.connection.application


def _signed_claims(text: str, request: Request) -> tuple[ServiceAccount, dict[str, Any]]:
    """Return the service account that the assertion names and whose key signed it, and the claims."""
    if not text.isascii() or not 0 < len(text) <= LONGEST:
        _refuse(_NOT_SIGNED, request)
    try:
        token = jws.extract_compact(text.encode())
        header = token.headers()
        key_id, algorithm = header.get("kid", ""), header.get("alg")
        if algorithm not in ALGORITHMS:
            _refuse(f"The client assertion must be signed by {', '.join(ALGORITHMS)}.", request)
        if not isinstance(key_id, str) or "crit" in header:
            _refuse("The header of the client assertion is not supported.", request)
        service_account = _named_in(token.payload)
        if service_account is not None:
            for key in verification_keys(service_account, key_id):
                claims = _verified_by(key, text, algorithm)
                if claims is not None:
                    return service_account, claims
    except UserError as error:
        raise errors.CustomOAuth2Error(
            error="temporarily_unavailable", description=plain(error.message), request=request
        ) from error
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise errors.InvalidClientError(description=_NOT_SIGNED, request=request) from error
    raise errors.InvalidClientError(description=_NOT_SIGNED, request=request)


def _named_in(payload: bytes) -> ServiceAccount | None:
    """Return the service account with keys whose client ID is the subject. The signature is not verified yet."""
    claims = json.loads(payload)
    client_id = claims.get("sub") if isinstance(claims, dict) else None
    if not isinstance(client_id, str) or not 0 < len(client_id) <= MAX_TEXT or "\0" in client_id:
        return None
    return (
        ServiceAccount.objects.unscoped()  # the signature shows whose it is
        .select_related("connection__application")
        .filter(~Q(jwks_url="", public_keys=[]), connection__application__client_id=client_id)
        .first()
    )


def _verified_by(key: PublicKey, text: str, algorithm: str) -> dict[str, Any] | None:
    if key.key_type != _KEY_TYPES[algorithm]:
        return None
    try:
        claims: Any = jwt.decode(text, key, algorithms=[algorithm]).claims
    except JoseError:
        return None
    return claims if isinstance(claims, dict) else None


def _check_audience(claims: dict[str, Any], request: Request) -> None:
    audience = claims.get("aud")
    if isinstance(audience, list) and len(audience) == 1:
        audience = audience[0]
    if audience not in (issuer(), f"{issuer()}/", f"{issuer()}{reverse('oauth_token')}"):
        _refuse(f"The aud of the client assertion must be {issuer()} alone.", request)


def _check_times(claims: dict[str, Any], request: Request) -> datetime:
    """Check `exp`, `iat` and `nbf`, and return the time of expiry."""
    now = clock.now()
    ends = _time(claims, "exp", request)
    starts = [_time(claims, name, request) for name in ("iat", "nbf") if name in claims]
    if ends <= now - LEEWAY:
        _refuse("The client assertion has expired. Sign a new one for each request.", request)
    if any(start > now + LEEWAY for start in starts):
        _refuse("The client assertion is of the future. Check the clock.", request)
    lives_from = _time(claims, "iat", request) if "iat" in claims else now
    if ends - lives_from > MAX_LIFETIME or ends > now + MAX_LIFETIME + LEEWAY:
        _refuse(
            "The client assertion lives longer than 5 minutes. Set exp to 5 minutes from now at most.",
            request,
        )
    return ends


def _time(claims: dict[str, Any], name: str, request: Request) -> datetime:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**33:
        _refuse(f"The client assertion has no usable {name}.", request)
    return datetime.fromtimestamp(value, UTC)


def _use_up(
    claims: dict[str, Any], service_account: ServiceAccount, ends: datetime, request: Request
) -> None:
    value = claims.get("jti")
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        _refuse("The client assertion has no usable jti.", request)
    application = service_account.connection.application
    if not ClientAssertion.use_once(application=application, identifier=value, expires_at=ends + 2 * LEEWAY):
        _refuse("The client assertion was already used. Sign a new one for each request.", request)


def _refuse(description: str, request: Request) -> NoReturn:
    raise errors.InvalidClientError(description=plain(description), request=request)
