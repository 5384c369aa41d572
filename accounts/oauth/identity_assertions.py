"""Identity assertions (ID-JAG): tokens for a person by a signed assertion of the account's identity provider, without
a consent page.

draft-ietf-oauth-identity-assertion-authz-grant and MCP's extension
`io.modelcontextprotocol/enterprise-managed-authorization`; docs/adr/0104-a-service-account-is-an-oauth-connection-without-a-person.md.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn

from joserfc import jws, jwt
from joserfc.errors import JoseError
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749 import errors

from accounts.oauth.error_text import plain
from accounts.oauth.provider import READ_SCOPE, WRITE_SCOPE
from accounts.oauth.resource import is_ours, issuer, resource
from accounts.sso.claims import as_texts
from accounts.sso.models import AssertionClient, IdentityAssertion, IdentityProvider
from accounts.sso.oidc import ALGORITHMS, LEEWAY_SECONDS
from accounts.sso.signing_keys import signing_keys
from finops.lib import clock
from finops.lib.errors import UserError

GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TYPE: Final = "oauth-id-jag+jwt"
LONGEST: Final = 16_384
MAX_LIFETIME: Final = timedelta(hours=1)
MAX_TEXT: Final = 255


@dataclasses.dataclass(frozen=True)
class Assertion:
    """The claims of a verified assertion. `scopes` is None if the assertion has no scope claim; `amr` lists the
    person's authentication methods."""

    subject: str
    scopes: set[str] | None
    amr: list[str]


def verify(text: Any, client: AssertionClient, request: Request) -> Assertion:
    """Check signature, type, issuer, audience, client, resource and times, and mark the assertion as used.

    Raises errors of oauthlib: `invalid_grant` or `invalid_target` with the reason, `temporarily_unavailable` if the
    provider does not answer.
    """
    provider = client.provider
    claims = _signed_claims(text, provider, request)
    _check_claims(claims, client, request)
    _check_times(claims, request)
    _use_up(claims, provider, request)
    scope = claims.get("scope")
    return Assertion(
        subject=claims["sub"],
        scopes=set(scope.split()) if isinstance(scope, str) else None,
        amr=as_texts(claims.get("amr", [])),
    )


def granted_scopes(assertion: Assertion, requested: list[str], access: list[str]) -> list[str]:
    """Return the scopes that the assertion, the request and the client's access all allow; write includes read. Empty
    if there is none."""
    allowed = {READ_SCOPE, WRITE_SCOPE} if assertion.scopes is None else assertion.scopes
    both = [scope for scope in access if scope in requested and (scope in allowed or WRITE_SCOPE in allowed)]
    return [READ_SCOPE, *both] if both == [WRITE_SCOPE] else both


def _signed_claims(text: Any, provider: IdentityProvider, request: Request) -> dict[str, Any]:
    if not isinstance(text, str) or not text.isascii() or not 0 < len(text) <= LONGEST:
        refuse("The assertion is not a signed JWT.", request)
    try:
        header = jws.extract_compact(text.encode()).headers()
        key_id = header.get("kid", "")
        if not isinstance(key_id, str) or "crit" in header:
            refuse("The assertion's header is not supported.", request)
        if str(header.get("typ", "")).lower().removeprefix("application/") != TYPE:
            refuse(f"The assertion's typ must be {TYPE}: an ID token is not accepted.", request)
        if header.get("alg") not in ALGORITHMS:
            refuse("The assertion must be signed by RSA, EC or Ed25519.", request)
        claims = jwt.decode(text, signing_keys(provider, key_id), algorithms=ALGORITHMS).claims
    except UserError as error:
        raise errors.CustomOAuth2Error(
            error="temporarily_unavailable", description=plain(error.message), request=request
        ) from error
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise invalid_grant(f"The assertion is not signed by {provider.name}.", request) from error
    if not isinstance(claims, dict):
        refuse("The assertion has no claims.", request)
    return claims


def _check_claims(claims: dict[str, Any], client: AssertionClient, request: Request) -> None:
    provider = client.provider
    if claims.get("iss") != provider.issuer:
        refuse(f"The assertion's iss must be {provider.issuer}.", request)
    if claims.get("aud") not in (issuer(), [issuer()]):
        refuse(f"The assertion's aud must be {issuer()} alone.", request)
    if claims.get("client_id") != client.application.client_id:
        refuse("The assertion is of another client: its client_id must be yours.", request)
    for name in ("sub", "jti"):
        value = claims.get(name)
        if (
            not isinstance(value, str)
            or not value.isascii()
            or not 0 < len(value) <= MAX_TEXT
            or not value.isprintable()
        ):
            refuse(f"The assertion has no usable {name}.", request)
    resources = claims.get("resource")
    listed = resources if isinstance(resources, list) else [resources]
    if not any(isinstance(uri, str) and is_ours(uri) for uri in listed):
        raise errors.CustomOAuth2Error(
            error="invalid_target",
            description=f"The assertion's resource must be {resource()}.",
            request=request,
        )


def _check_times(claims: dict[str, Any], request: Request) -> None:
    now = clock.now()
    issued, ends = (_time(claims, name, request) for name in ("iat", "exp"))
    starts = _time(claims, "nbf", request) if "nbf" in claims else issued
    leeway = timedelta(seconds=LEEWAY_SECONDS)
    if ends <= now - leeway:
        refuse("The assertion has expired. Ask the identity provider for a new one.", request)
    if max(issued, starts) > now + leeway:
        refuse("The assertion is of the future. Check the clock of the identity provider.", request)
    if ends - issued > MAX_LIFETIME or issued < now - MAX_LIFETIME - leeway:
        refuse("The assertion lives longer than an hour. Ask for a shorter one.", request)


def _time(claims: dict[str, Any], name: str, request: Request) -> datetime:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**33:
        refuse(f"The assertion has no usable {name}.", request)
    return datetime.fromtimestamp(value, UTC)


def _use_up(claims: dict[str, Any], provider: IdentityProvider, request: Request) -> None:
    ends = clock.now() + 2 * MAX_LIFETIME + timedelta(seconds=2 * LEEWAY_SECONDS)
    if not IdentityAssertion.use_once(provider=provider, identifier=claims["jti"], expires_at=ends):
        refuse("The assertion was already used. Ask the identity provider for a new one.", request)


def refuse(description: str, request: Request) -> NoReturn:
    """Raises `invalid_grant`."""
    raise invalid_grant(description, request)


def invalid_grant(description: str, request: Request) -> errors.InvalidGrantError:
    """Return the error `invalid_grant` of RFC 6749, 5.2, with a description in the characters that the RFC allows."""
    return errors.InvalidGrantError(description=plain(description), request=request)
