"""A credential counts once, in the Authorization header, as Bearer. Anywhere else it is not looked at."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.services import create_account
from finops.connections.services.cost_keys import create_pushed_source
from ingestion.services import create_usage_source, generate_usage_key
from tests.cast import Cast
from tests.credentials.endpoints import COSTS, ENDPOINTS, EVENT, EVENTS, MCP, PAGE, PUSH, REST, SCIM
from tests.credentials.entries import access_token, cost_key, event_key, scim_token, usage_key
from tests.isolation.discovery import fingerprint
from tests.mcpserver.mcp_client import mint
from tests.servers import LiveServer

REST_TOOL = f"{REST}/listTeams"
BODIES = {
    REST_TOOL: "{}",
    MCP: json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    PUSH: json.dumps({"events": [EVENT]}),
    EVENTS: json.dumps({"events": [{"kind": "release", "title": "v1"}]}),
    COSTS: json.dumps({"month": "2026-05"}),
    SCIM: json.dumps({"userName": "ann@example.com"}),
}
# Each kind of token, and its own endpoint: where it would count, were it in its place.
TOKENS: dict[str, tuple[str, Callable[[Cast], str]]] = {
    "MCP key": (MCP, lambda cast: mint(cast, "read_write")),
    "MCP key, over REST": (REST_TOOL, lambda cast: mint(cast, "read_write")),
    "OAuth token": (MCP, lambda cast: access_token(cast, "read_write")),
    "usage key": (PUSH, lambda cast: usage_key(cast)[1]),
    "event key": (EVENTS, lambda cast: event_key(cast)[1]),
    "SCIM token": (SCIM, lambda cast: scim_token(cast)[1]),
    "cost key": (COSTS, lambda cast: cost_key(cast)[1]),
}


def basic(user: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


HEADERS: dict[str, Callable[[str], dict[str, str]]] = {
    "basic, as the user": lambda token: basic(token, ""),
    "basic, as the password": lambda token: basic("key", token),
    "bare": lambda token: {"authorization": token},
    "token": lambda token: {"authorization": f"Token {token}"},
    "bearer with a colon": lambda token: {"authorization": f"Bearer: {token}"},
    "bearer, twice": lambda token: {"authorization": f"Bearer {token}, Bearer {token}"},
    "bearer, then more": lambda token: {"authorization": f"Bearer {token} {token}"},
    "x-api-key": lambda token: {"x-api-key": token},
    "api-key": lambda token: {"api-key": token},
    "x-authorization": lambda token: {"x-authorization": f"Bearer {token}"},
    "proxy-authorization": lambda token: {"proxy-authorization": f"Bearer {token}"},
    "cookie named authorization": lambda token: {"cookie": f"Authorization=Bearer {token}"},
    "cookie named token": lambda token: {"cookie": f"token={token}; access_token={token}; api_key={token}"},
    "cookie named as the session's": lambda token: {"cookie": f"sessionid={token}"},
}

each_endpoint = pytest.mark.parametrize(
    "endpoint", [MCP, REST_TOOL, PUSH, COSTS], ids=["mcp", "rest", "push", "costs"]
)
each_token = pytest.mark.parametrize("kind", TOKENS)


@each_token
@pytest.mark.parametrize("header", HEADERS)
def test_no_other_header_carries_it(cast: Cast, kind: str, header: str) -> None:
    endpoint, make = TOKENS[kind]
    headers = HEADERS[header](make(cast))
    before = fingerprint()

    answer = Client().post(endpoint, BODIES[endpoint], "application/json", headers=headers)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert fingerprint() == before


@each_token
@pytest.mark.parametrize(
    "name", ["access_token", "token", "key", "api_key", "authorization", "Authorization"]
)
def test_the_address_does_not_carry_it(cast: Cast, kind: str, name: str) -> None:
    endpoint, make = TOKENS[kind]
    token = make(cast)
    before = fingerprint()

    for value in (token, f"Bearer {token}"):
        url = f"{endpoint}?{urlencode({name: value})}"
        assert Client().post(url, BODIES[endpoint], "application/json").status_code == 401

    assert fingerprint() == before


@each_token
def test_the_body_does_not_carry_it(cast: Cast, kind: str) -> None:
    endpoint, make = TOKENS[kind]
    token = make(cast)
    within = {**json.loads(BODIES[endpoint]), "access_token": token, "authorization": f"Bearer {token}"}
    before = fingerprint()

    as_json = Client().post(endpoint, json.dumps(within), "application/json")
    as_form = Client().post(endpoint, {"access_token": token})

    assert (as_json.status_code, as_form.status_code) == (401, 401)
    assert fingerprint() == before


@each_endpoint
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_without_a_token_every_method_gets_the_same_refusal(db: None, endpoint: str, method: str) -> None:
    before = fingerprint()

    answer = Client().generic(method, endpoint, BODIES[endpoint], "application/json")

    assert answer.status_code == 401
    assert fingerprint() == before


def test_no_page_takes_a_token_for_a_session(cast: Cast) -> None:
    for token in [make(cast) for _endpoint, make in TOKENS.values()]:
        before = fingerprint()
        ways = [
            Client().get(PAGE, headers={"authorization": f"Bearer {token}"}),
            Client().get(f"{PAGE}?{urlencode({'access_token': token, 'key': token})}"),
            Client().get(PAGE, headers={"cookie": f"sessionid={token}"}),
            Client().get(PAGE, headers=basic("member@example.com", token)),
        ]

        assert [answer.status_code for answer in ways] == [302] * 4
        assert fingerprint() == before


def test_a_session_alone_posts_nothing_for_another_site(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.member)
    before = fingerprint()

    assert ENDPOINTS["page's form"].ask(client, {"origin": "http://evil.example.com"}).status_code == 403
    assert fingerprint() == before


# On the wire: how a real server hands over what HTTP allows once and a client sends twice.


def live_keys() -> dict[str, str]:
    """In the server's process: a key of each endpoint, of an account of their own."""
    owner = User.objects.create_user("credentials@example.com", "a long enough secret")
    account, actor = create_account(name="Credentials", owner=owner, slug="credentials"), Actor.of_user(owner)
    source = create_usage_source(account=account, actor=actor, name="Backend")
    return {
        MCP: mint_mcp_key(account=account, actor=actor, name="wire")[1],
        REST_TOOL: mint_mcp_key(account=account, actor=actor, name="wire of REST")[1],
        PUSH: generate_usage_key(source=source, actor=actor)[1],
        COSTS: create_pushed_source(account=account, actor=actor, name="LiteLLM")[2],
    }


@pytest.fixture(scope="module")
def on_the_wire(live_server_process: LiveServer) -> dict[str, str]:
    key_by_kind: dict[str, str] = live_server_process.run("tests.credentials.test_token_placement:live_keys")
    return key_by_kind


def statuses(url: str, endpoint: str, *authorization: str) -> int:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.putrequest("POST", endpoint)
        for value in authorization:
            connection.putheader("Authorization", value)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(BODIES[endpoint])))
        connection.endheaders(BODIES[endpoint].encode())
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.xdist_group("mcp-clients")
@each_endpoint
def test_two_authorization_headers_are_refused(
    live_server_process: LiveServer, on_the_wire: dict[str, str], endpoint: str
) -> None:
    url, good = live_server_process.url, f"Bearer {on_the_wire[endpoint]}"
    pairs = [(good, "Bearer garbage"), ("Bearer garbage", good), (good, good), ("Basic a2V5", good)]

    assert statuses(url, endpoint, good) in (200, 201)
    assert [statuses(url, endpoint, *pair) for pair in pairs] == [401] * 4
