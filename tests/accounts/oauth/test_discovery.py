"""The documents that lead a client from a pasted URL to the sign-in."""

from __future__ import annotations

import re
from typing import Any

import oauth2_provider
import pytest
from django.test import Client
from oauth2_provider import urls as library

from accounts.oauth.resource import RESOURCE_PATH, canonical, is_ours
from mcpserver.views import PATH
from tests.accounts.oauth.flow import json_of
from tests.isolation.discovery import routes

SERVER = "/.well-known/oauth-authorization-server"
RESOURCES = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/api/mcp"]
PUBLIC = [SERVER, *RESOURCES]


def test_the_resource_is_the_mcp_endpoint() -> None:
    assert RESOURCE_PATH == PATH


@pytest.mark.parametrize("path", RESOURCES)
def test_the_protected_resource_names_its_authorization_server(path: str, settings: Any) -> None:
    settings.PUBLIC_URL = "https://finops.example"

    assert json_of(Client().get(path)) == {
        "resource": "https://finops.example/api/mcp",
        "authorization_servers": ["https://finops.example"],
        "scopes_supported": ["mcp:read", "mcp:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "FinOps Console",
    }


def test_the_authorization_server_says_what_it_does(settings: Any) -> None:
    settings.PUBLIC_URL = "https://finops.example"

    payload = json_of(Client().get(SERVER))

    assert payload["issuer"] == "https://finops.example"
    assert {key: payload[key] for key in payload if key.endswith("_endpoint")} == {
        "authorization_endpoint": "https://finops.example/oauth/authorize",
        "token_endpoint": "https://finops.example/oauth/token",
        "registration_endpoint": "https://finops.example/oauth/register",
        "revocation_endpoint": "https://finops.example/oauth/revoke",
    }
    assert payload["code_challenge_methods_supported"] == ["S256"]
    assert payload["response_types_supported"] == ["code"]
    assert payload["grant_types_supported"] == [
        "authorization_code",
        "refresh_token",
        "client_credentials",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ]
    assert "none" in payload["token_endpoint_auth_methods_supported"]
    assert payload["scopes_supported"] == ["mcp:read", "mcp:write", "offline_access"]
    assert payload["authorization_response_iss_parameter_supported"] is True
    assert payload["client_id_metadata_document_supported"] is True


def test_the_challenge_of_the_endpoint_leads_to_an_existing_document(db: None) -> None:
    challenge = Client().post(PATH)["WWW-Authenticate"]

    match = re.search(r'resource_metadata="([^"]+)"', challenge)
    assert match is not None
    document = json_of(Client().get(match[1].removeprefix("http://127.0.0.1:8000")))
    assert document["resource"] == "http://127.0.0.1:8000/api/mcp"
    assert 'scope="mcp:read mcp:write"' in challenge
    assert "offline_access" not in challenge


def test_the_documents_need_no_database_and_no_session() -> None:
    for path in PUBLIC:
        answer = Client().get(path)
        assert answer.status_code == 200
        assert not answer.cookies


@pytest.mark.parametrize("path", PUBLIC)
def test_a_page_of_any_origin_may_read_them(path: str) -> None:
    answer = Client().get(path, headers={"origin": "https://inspector.example"})

    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer


@pytest.mark.parametrize(
    ("path", "method"),
    [
        *((path, "GET") for path in PUBLIC),
        ("/oauth/token", "POST"),
        ("/oauth/register", "POST"),
        ("/oauth/revoke", "POST"),
    ],
)
def test_a_browser_may_ask_before_it_calls(path: str, method: str) -> None:
    preflight_headers = {"origin": "https://inspector.example", "access-control-request-method": method}

    answer = Client().options(path, headers=preflight_headers)

    assert answer.status_code == 204
    assert method in answer["Access-Control-Allow-Methods"]
    assert "MCP-Protocol-Version" in answer["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in answer


def test_no_other_page_is_open_to_other_origins(db: None) -> None:
    for path in ("/oauth/authorize", "/auth/login/", "/", "/healthz"):
        for answer in (Client().get(path), Client().options(path)):
            assert "Access-Control-Allow-Origin" not in answer


@pytest.mark.parametrize(
    ("path", "allowed"),
    [(SERVER, "GET, OPTIONS"), ("/oauth/token", "POST, OPTIONS"), ("/oauth/register", "POST, OPTIONS")],
)
def test_another_method_is_refused(path: str, allowed: str) -> None:
    answer = Client().delete(path)

    assert (answer.status_code, answer["Allow"]) == (405, allowed)


def test_the_library_is_the_security_release_we_read() -> None:
    """Fault H: older ones match redirects loosely, among other things. A newer one is read again before it is taken."""
    assert oauth2_provider.__version__ == "3.4.1"


def test_nothing_else_of_the_library_is_mounted() -> None:
    own_routes = {route.path for route in routes() if route.path.startswith(("oauth", ".well-known/oauth"))}

    assert own_routes == {
        "oauth/authorize",
        "oauth/token",
        "oauth/register",
        "oauth/revoke",
        *(path[1:] for path in PUBLIC),
    }
    assert not [
        route
        for route in routes()
        if getattr(route.view, "__module__", "").startswith(library.__package__ or "")
    ]


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:8000/api/mcp",
        "HTTP://127.0.0.1:8000/api/mcp",
        "http://127.0.0.1:8000/api/mcp/",
        "http://127.0.0.1:8000/api/mcp?x=1",
    ],
)
def test_a_resource_is_ours_in_each_of_its_spellings(uri: str) -> None:
    assert is_ours(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8000/api",
        "http://127.0.0.1:8000/api/mcp/x",
        "http://127.0.0.1:8000/api/mcp#x",
        "http://127.0.0.1:8000@evil.example/api/mcp",
        "http://evil@127.0.0.1:8000/api/mcp",
        "https://127.0.0.1:8000/api/mcp",
        "http://127.0.0.1/api/mcp",
        "http://127.0.0.1:x/api/mcp",
        "http://[::1/api/mcp",
        "/api/mcp",
        "api",
        "",
    ],
)
def test_no_other_resource_is_ours(uri: str) -> None:
    assert not is_ours(uri)


def test_the_default_port_says_nothing() -> None:
    assert canonical("https://finops.example:443/api/mcp") == "https://finops.example/api/mcp"
    assert canonical("https://[2001:DB8::1]:8443/x/") == "https://[2001:db8::1]:8443/x"
