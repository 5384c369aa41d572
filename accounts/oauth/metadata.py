"""The metadata documents of the protected resource (RFC 9728) and the authorization server (RFC 8414), by which MCP
clients find the sign-in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from accounts.oauth.client_assertions import ALGORITHMS
from accounts.oauth.client_assertions import METHOD as PRIVATE_KEY_JWT
from accounts.oauth.cors import open_to_browsers
from accounts.oauth.identity_assertions import GRANT_TYPE as JWT_BEARER
from accounts.oauth.provider import OFFLINE_SCOPE, SCOPES
from accounts.oauth.resource import issuer, resource

REGISTERED_AUTH_METHODS = ["none", "client_secret_post", "client_secret_basic"]
"""Authentication methods that a client can register for."""
AUTH_METHODS = [*REGISTERED_AUTH_METHODS, PRIVATE_KEY_JWT]
GRANT_TYPES = ["authorization_code", "refresh_token"]
"""Grant types that a client can register for."""
SERVICE_GRANT_TYPES = ["client_credentials", JWT_BEARER]
"""Grant types of clients that an account creates itself."""


MCP_EXTENSIONS = [
    "io.modelcontextprotocol/oauth-client-credentials",
    "io.modelcontextprotocol/enterprise-managed-authorization",
]
"""Extensions of MCP that this authorization server supports."""


def server_document() -> dict[str, Any]:
    return {
        "issuer": issuer(),
        "authorization_endpoint": _url("oauth_authorize"),
        "token_endpoint": _url("oauth_token"),
        "registration_endpoint": _url("oauth_register"),
        "revocation_endpoint": _url("oauth_revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
        "grant_types_supported": [*GRANT_TYPES, *SERVICE_GRANT_TYPES],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "token_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
        "scopes_supported": [*SCOPES, OFFLINE_SCOPE],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }


def resource_document() -> dict[str, Any]:
    return {
        "resource": resource(),
        "authorization_servers": [issuer()],
        "scopes_supported": [*SCOPES],
        "bearer_methods_supported": ["header"],
        "resource_name": "FinOps Console",
    }


def _url(name: str) -> str:
    return f"{issuer()}{reverse(name)}"


@open_to_browsers("GET")
def authorization_server(request: HttpRequest) -> HttpResponse:
    return _json(server_document())


@open_to_browsers("GET")
def protected_resource(request: HttpRequest) -> HttpResponse:
    return _json(resource_document())


def _json(document: dict[str, Any]) -> HttpResponse:
    return JsonResponse(document, headers={"Cache-Control": "public, max-age=300"})
