"""Addresses that programs call: with a slash or without, and errors in JSON that name the right address."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import get_resolver

from tests.cast import Cast
from tests.isolation.discovery import Route, _routes

PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
MCP_ACCEPT = "application/json, text/event-stream"
ROUTES = [
    route
    for route in _routes(get_resolver("finops.machine_endpoints").url_patterns, "")
    if not route.arguments and not route.path.startswith("^") and route.name != "oauth_authorize"
]
each = pytest.mark.parametrize
pytestmark = pytest.mark.django_db


def call(path: str, method: str = "POST", body: bytes = b"{}", **headers: str) -> Any:
    return Client().generic(method, path, body, content_type="application/json", headers=headers)


@each("route", ROUTES, ids=str)
@each("method", ["GET", "POST", "PATCH"])
def test_an_address_with_a_slash_is_the_same_address(route: Route, method: str) -> None:
    with_slash, without = (call(f"/{route.path}{end}", method) for end in ("/", ""))

    assert with_slash.status_code == without.status_code
    assert "Location" not in with_slash
    if without.status_code not in (200, 201):
        assert json.loads(without.content)
    if route.path != ".well-known/security.txt" or without.status_code != 200:
        assert "html" not in with_slash.get("Content-Type", "")


@each(
    ("path", "right"),
    [
        ("/api/usage/event", "/api/usage/events"),
        ("/api/usage", "/api/usage/events"),
        ("/api/usage/events/batch", "/api/usage/events"),
        ("/api/event", "/api/events"),
        ("/api/v1", "/api/v1/tools"),
        ("/api/mcpp", "/api/mcp"),
        ("/api/usage/otlp/v1/traces", "/api/usage/otlp/v1/metrics"),
        ("/api/usage/otlp/v1/logs/", "/api/usage/otlp/v1/metrics"),
        ("/api/usage/otlp", "/api/usage/otlp/v1/metrics"),
        ("/v1/metrics", "/api/usage/otlp/v1/metrics"),
        *(
            (path, "/.well-known/oauth-authorization-server")
            for path in (
                "/.well-known/openid-configuration",
                "/.well-known/openid-configuration/api/mcp",
                "/.well-known/oauth-authorization-server/api/mcp",
                "/api/mcp/.well-known/openid-configuration",
            )
        ),
    ],
)
def test_a_wrong_address_names_the_right_one(path: str, right: str) -> None:
    answer = call(path)

    assert answer.status_code == 404
    assert answer["Content-Type"].endswith("json")
    assert f"{settings.PUBLIC_URL}{right}" in answer.content.decode()


@each(
    "path", ["/oauth/tokens", "/oauth/", "/.well-known/openid-configuration", "/.well-known/oauth-protected"]
)
@each("method", ["GET", "POST"])
def test_a_wrong_address_of_the_sign_in_has_the_form_of_oauth_for_scripts_of_any_origin(
    path: str, method: str
) -> None:
    answer = call(path, method)

    assert answer.status_code == 404
    assert json.loads(answer.content).keys() == {"error", "error_description"}
    assert answer["Access-Control-Allow-Origin"] == "*"


@each("path", ["/", "/mcp", "/sse", "/api/mcp/sse", "/api", "/a/acme/"])
def test_an_mcp_client_with_the_address_of_something_else_is_told_that_of_the_server(path: str) -> None:
    answer = call(path, body=PING, accept=MCP_ACCEPT)

    assert answer.status_code == 404
    error = json.loads(answer.content)
    assert error["id"] == 7
    assert f"{settings.PUBLIC_URL}/api/mcp" in error["error"]["message"]


def test_an_mcp_client_that_waits_for_events_at_the_root_is_told_the_address() -> None:
    answer = Client().get("/", headers={"accept": "text/event-stream"})

    assert (answer.status_code, json.loads(answer.content)["error"]["code"]) == (404, 404)


def test_a_person_who_opens_the_servers_address_gets_a_page(cast: Cast) -> None:
    for path in ("/api/mcp", "/api/mcp/"):
        answer = Client().get(path, headers={"accept": "text/html,application/xhtml+xml"})
        assert answer.status_code == 200
        assert f"{settings.PUBLIC_URL}/api/mcp" in answer.content.decode()


@each("accept", ["text/html", "*/*", ""])
def test_a_person_gets_pages_at_the_root_and_at_wrong_addresses(accept: str) -> None:
    assert Client().get("/", headers={"accept": accept}).status_code == 302
    missing = Client().get("/nowhere/", headers={"accept": accept})
    assert (missing.status_code, missing["Content-Type"]) == (404, "text/html; charset=utf-8")


@each("path", ["/api/mcp", "/api/v1/tools", "/api/usage/events", "/api/usage/otlp/v1/metrics", "/api/events"])
@each(
    "header",
    [
        "fmcp_abc",
        "Bearer",
        "Basic Zm1jcDphYmM=",
        "Bearer Bearer fmcp_abc",
        "Bearer%20fmcp_abc",
        "Bearer: fmcp_abc",
        'Bearer "fmcp_abc"',
        "Bearer ${FINOPS_KEY}",
        "Token fmcp_abc",
    ],
)
def test_a_header_of_another_form_gets_the_form_and_not_that_the_key_is_unknown(
    path: str, header: str
) -> None:
    answer = call(path, authorization=header)

    assert answer.status_code == 401
    assert "Authorization: Bearer <" in answer.content.decode()
    assert "unknown" not in answer.content.decode()


@each("prefix", ["fmcp_", "foat_", "fuse_", "fevt_", "fcst_", "fscm_"])
def test_a_key_for_another_endpoint_is_not_called_unknown(prefix: str) -> None:
    endpoints = {
        "/api/mcp": ("fmcp_", "foat_"),
        "/api/v1/tools": ("fmcp_", "foat_"),
        "/api/usage/events": ("fuse_",),
        "/api/events": ("fevt_",),
        "/scim/v2/Users": ("fscm_",),
    }
    for path, own in endpoints.items():
        answer = call(path, authorization=f"Bearer {prefix}{'a' * 43}")
        assert answer.status_code == 401
        assert ("unknown" in answer.content.decode()) == (prefix in own)


@each("query", ["key=fmcp_abc", "access_token=x", "api_key=x", "x=1&token=y", "API-KEY=x"])
def test_a_key_in_the_address_is_named_as_the_reason(query: str) -> None:
    for path in ("/api/mcp", "/api/usage/events"):
        answer = call(f"{path}?{query}")
        assert (answer.status_code, "address" in answer.content.decode()) == (401, True)
