"""/oauth/register: dynamic client registration (RFC 7591), for clients that have no metadata document.

Anyone may register, so a registration proves nothing: registrations are limited per address and checked, the same
public client gets the same row again, and a registration without a consent is deleted after a week.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.generators import generate_client_id, generate_client_secret

from accounts.models import OAuthApplication
from accounts.oauth import limits, redirects
from accounts.oauth.clients import display_name
from accounts.oauth.cors import open_to_browsers
from accounts.oauth.endpoints import problem, too_many
from accounts.oauth.metadata import GRANT_TYPES, REGISTERED_AUTH_METHODS
from accounts.oauth.provider import SCOPES
from finops.lib import clock
from finops.lib.errors import INVALID_JSON

MAX_BODY = 16_384
MAX_REDIRECT_URIS = 20
PUBLIC = "none"
"""The authentication method of a client without a secret."""


class Registration(msgspec.Struct):
    """The client metadata that we use; the rest is ignored (RFC 7591, 2)."""

    redirect_uris: list[str] | None = None
    client_name: str | None = None
    token_endpoint_auth_method: str | None = None
    grant_types: list[str] | None = None
    response_types: list[str] | None = None
    application_type: str | None = None


class RegistrationError(Exception):
    """Metadata that cannot be registered; `error` is an error code of RFC 7591, 3.2.2."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error, self.description = error, description


@csrf_exempt
@open_to_browsers("POST")
def register(request: HttpRequest) -> HttpResponse:
    if wait := limits.seconds_to_wait_at_register(request):
        return too_many(wait)
    try:
        metadata = _read(request)
        method = _auth_method(metadata)
        uris = _redirect_uris(metadata.redirect_uris or [], is_public=method == PUBLIC)
        application, secret = _create_client(display_name(metadata.client_name), uris, method)
    except RegistrationError as refused:
        return problem(400, refused.error, refused.description)
    answer = _answer(application, metadata, uris, method, secret)
    return JsonResponse(answer, status=201, headers={"Cache-Control": "no-store"})


def _read(request: HttpRequest) -> Registration:
    try:
        length = request.META.get("CONTENT_LENGTH") or "0"
        body = request.body if length.isdecimal() and int(length[:20]) <= MAX_BODY else None
    except (RequestDataTooBig, UnreadablePostError):
        body = None
    if body is None:
        raise RegistrationError(
            "invalid_client_metadata", f"The body must be JSON of at most {MAX_BODY} bytes."
        )
    try:
        return msgspec.json.decode(body, type=Registration)
    except INVALID_JSON as error:
        raise RegistrationError(
            "invalid_client_metadata", f"The body is not valid client metadata: {error}"
        ) from error


def _redirect_uris(requested_uris: list[str], *, is_public: bool) -> list[str]:
    """Return the redirect URIs that we serve, without unknown private schemes. Any unsafe URI refuses the whole
    registration. A program on a person's device, which has an own scheme, keeps no secret (RFC 8252, 8.5)."""
    if not 0 < len(requested_uris) <= MAX_REDIRECT_URIS:
        raise RegistrationError("invalid_redirect_uri", f"Register 1 to {MAX_REDIRECT_URIS} redirect_uris.")
    accepted_uris, reason = [], ""
    for uri in requested_uris:
        try:
            redirects.check(uri)
            if not is_public and redirects.is_reversed_domain(urlsplit(uri).scheme):
                raise redirects.UnknownScheme("an own scheme needs token_endpoint_auth_method none")
        except redirects.UnknownScheme as unknown:
            reason = str(unknown)
        except redirects.UnsafeRedirectUri as refused:
            raise RegistrationError("invalid_redirect_uri", f"{uri[:120]!r}: {refused}.") from refused
        else:
            accepted_uris.append(uri)
    if not accepted_uris:
        raise RegistrationError("invalid_redirect_uri", f"No valid redirect URI: {reason}.")
    return list(dict.fromkeys(accepted_uris))


def _auth_method(metadata: Registration) -> str:
    """Return the authentication method; a client that names none is public."""
    method = metadata.token_endpoint_auth_method or PUBLIC
    if method not in REGISTERED_AUTH_METHODS:
        raise RegistrationError(
            "invalid_client_metadata", f"token_endpoint_auth_method must be one of {REGISTERED_AUTH_METHODS}."
        )
    if metadata.grant_types is not None and "authorization_code" not in metadata.grant_types:
        raise RegistrationError("invalid_client_metadata", "grant_types must include authorization_code.")
    if metadata.response_types is not None and "code" not in metadata.response_types:
        raise RegistrationError("invalid_client_metadata", "response_types must include code.")
    return method


def _create_client(name: str, uris: list[str], method: str) -> tuple[OAuthApplication, str]:
    """Create the client and return it with its secret, if it requested one. A public client that registered before
    gets the same row."""
    fields: dict[str, Any] = {
        "name": name,
        "redirect_uris": " ".join(uris),
        "authorization_grant_type": OAuthApplication.GRANT_AUTHORIZATION_CODE,
        "registration_source": OAuthApplication.RegistrationSource.DCR,
    }
    if method != PUBLIC:
        secret: str = generate_client_secret()
        confidential_client = OAuthApplication(
            client_type=OAuthApplication.CLIENT_CONFIDENTIAL, client_secret=secret, **fields
        )
        confidential_client.save(force_insert=True)
        return confidential_client, secret
    with transaction.atomic():
        application, created = OAuthApplication.objects.get_or_create(
            fingerprint=_fingerprint(name, uris),
            defaults={
                "client_type": OAuthApplication.CLIENT_PUBLIC,
                "client_id": generate_client_id(),
                **fields,
            },
        )
        if not created:
            OAuthApplication.objects.filter(pk=application.pk).update(updated=clock.now())
    return application, ""


def _fingerprint(name: str, uris: list[str]) -> str:
    """Return a key that is equal for equivalent registrations: the port of a loopback address and the order do not
    count."""
    identity = [name, sorted({redirects.without_loopback_port(uri) for uri in uris})]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def _answer(
    application: OAuthApplication, metadata: Registration, uris: list[str], method: str, secret: str
) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "client_id": application.client_id,
        "client_id_issued_at": int(application.created.timestamp()),
        "redirect_uris": uris,
        "grant_types": [grant for grant in GRANT_TYPES if grant in (metadata.grant_types or GRANT_TYPES)],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "scope": " ".join(SCOPES),
        "application_type": metadata.application_type
        if metadata.application_type in {"web", "native"}
        else "web",
    }
    if application.name:
        answer["client_name"] = application.name
    if secret:
        answer |= {"client_secret": secret, "client_secret_expires_at": 0}
    return answer
