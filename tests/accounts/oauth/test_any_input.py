"""Whatever comes to the authorization server, it answers as documented: never 500, JSON where a program asks.

30 examples of each in the suite; `make soak` runs 20,000 (SOAK=1), or as many as SOAK_INPUTS says.
"""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import OAuthApplication
from accounts.oauth.resource import resource
from tests.accounts.oauth.flow import CALLBACK, json_of
from tests.cast import make_cast, signed_in

EXAMPLES = int(os.environ.get("SOAK_INPUTS", "20000" if os.environ.get("SOAK") else "30"))
CLIENT_ID = "fuzzed-client"
FORM = "application/x-www-form-urlencoded"

pytestmark = [pytest.mark.soak, pytest.mark.django_db]
many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

odd = st.sampled_from(
    [
        "",
        "\0",
        "\ud7ff",
        "é",
        "%zz",
        "%00",
        "a b",
        "..",
        "http://[",
        "https://x:y/",
        "'\"<>",
        "9" * 500,
        "a" * 3000,
    ]
)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | odd
names = st.sampled_from(
    [
        "client_id",
        "redirect_uri",
        "response_type",
        "response_mode",
        "scope",
        "state",
        "code_challenge",
        "code_challenge_method",
        "resource",
        "prompt",
        "approval_prompt",
        "request",
        "request_uri",
        "claims",
        "nonce",
        "ui_locales",
        "grant_type",
        "code",
        "code_verifier",
        "refresh_token",
        "client_secret",
        "token",
        "token_type_hint",
        "username",
        "password",
        "device_code",
        "connection",
        "grant",
        "client",
        "user",
        "scopes",
        "validator_log",
        "headers",
        "uri",
        "body",
        "http_method",
        "decoded_body",
        "_params",
        "__dict__",
        "duplicate_params",
    ]
)
likely = st.sampled_from(
    [
        CLIENT_ID,
        CALLBACK,
        "code",
        "token",
        "S256",
        "plain",
        "a" * 43,
        "mcp:read",
        "mcp:read mcp:write offline_access",
        "http://127.0.0.1:8000/api/mcp",
        "none",
        "consent",
        "authorization_code",
        "refresh_token",
        "openid",
        "foat_" + "a" * 43,
        "fort_" + "a" * 43,
        "https://vscode.dev/oauth/client-metadata.json",
        "https://127.0.0.1/mcp.json",
    ]
)
pairs = st.lists(st.tuples(names | text, likely | text), max_size=14)
GOOD = {
    "client_id": CLIENT_ID,
    "redirect_uri": CALLBACK,
    "response_type": "code",
    "code_challenge": "a" * 43,
    "code_challenge_method": "S256",
}
# Most of a good request and some of anything: else nearly all examples end at the unknown client.
queries = st.tuples(st.sets(st.sampled_from(sorted(GOOD))), pairs).map(
    lambda made: [(name, value) for name, value in GOOD.items() if name not in made[0]] + made[1]
)


@pytest.fixture
def person(no_documents: None) -> Client:
    OAuthApplication.objects.create(
        client_id=CLIENT_ID,
        client_type="public",
        authorization_grant_type="authorization-code",
        redirect_uris=CALLBACK,
    )
    return signed_in(make_cast().both)


@pytest.fixture
def no_documents(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    monkeypatch.setattr("accounts.oauth.cimd.resolve_cimd_application", lambda client_id, request: None)


def raw(pairs: list[tuple[str, str]], broken: bytes = b"") -> str:
    return urlencode(pairs) + broken.decode("latin-1")


@many
@given(query=queries, broken=st.binary(max_size=6), form=pairs)
def test_the_authorization_endpoint(
    person: Client, query: list[tuple[str, str]], broken: bytes, form: list[tuple[str, str]]
) -> None:
    with_resource = [*query, ("resource", resource())]
    for pairs in (query, with_resource):
        environ: dict[str, Any] = {"QUERY_STRING": raw(pairs, broken)}
        response = person.get("/oauth/authorize", **environ)
        posted = person.post("/oauth/authorize", raw(form), content_type=FORM, **environ)
        for answer in (response, posted):
            assert answer.status_code in {200, 302, 400, 422}, answer.content
            if answer.status_code == 302:
                assert answer["Location"].startswith(CALLBACK)
                assert "iss=http%3A%2F%2F127.0.0.1%3A8000" in answer["Location"]
                assert "code=" not in answer["Location"].replace("error_code=", "")


@many
@given(form=pairs, broken=st.binary(max_size=20), basic=text)
def test_the_token_and_revocation_endpoints(
    person: Client, form: list[tuple[str, str]], broken: bytes, basic: str
) -> None:
    body = raw(form).encode() + broken
    for path in ("/oauth/token", "/oauth/revoke"):
        cache.clear()
        for headers in ({}, {"authorization": f"Basic {basic}"}):
            answer = person.post(path, body, content_type=FORM, headers=headers)
            assert answer.status_code in {400, 401} or (path.endswith("revoke") and answer.status_code == 200)
            assert answer.status_code == 200 or json_of(answer)["error"]
            assert answer["Access-Control-Allow-Origin"] == "*"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text | likely,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
uris = st.lists(
    st.sampled_from([CALLBACK, "https://a.example/cb", "cursor://x/y", "x-y://z", "http://evil.example/"])
    | text,
    max_size=5,
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "redirect_uris": uris | anything,
        "client_name": text | anything,
        "grant_types": st.just(["authorization_code"]) | anything,
        "response_types": st.just(["code"]) | anything,
        "token_endpoint_auth_method": st.sampled_from(["none", "client_secret_post"]) | anything,
        "application_type": st.sampled_from(["web", "native"]) | anything,
        "scope": text,
    },
)


@many
@given(said=metadata | anything, broken=st.binary(max_size=4))
def test_the_registration_endpoint(no_documents: None, said: Any, broken: bytes) -> None:
    cache.clear()
    answers = [
        Client().post("/oauth/register", body, content_type="application/json")
        for body in (json.dumps(said).encode(), json.dumps(said).encode() + broken)
    ]

    for answer in answers:
        payload = json_of(answer)
        assert answer.status_code in {201, 400}, payload
        assert ("error" in payload) == (answer.status_code == 400)
        if answer.status_code == 201:
            assert not {uri.partition(":")[0] for uri in payload["redirect_uris"]} - {
                "http",
                "https",
                "cursor",
                "vscode",
                "vscode-insiders",
                "windsurf",
            }
