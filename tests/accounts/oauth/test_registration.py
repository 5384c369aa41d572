"""POST /oauth/register: what older clients send, what no client may, and how little a registration is worth."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from accounts.models import OAuthApplication
from tests.accounts.oauth.flow import CALLBACK, OAuthClient, json_of, register
from tests.cast import Cast

GRANTS = ["authorization_code", "refresh_token"]
# Bodies that real clients send (section 7.4 of the protocol digest).
PYTHON = {
    "client_name": "t",
    "redirect_uris": ["http://127.0.0.1:9876/callback"],
    "grant_types": GRANTS,
    "response_types": ["code"],
    "scope": "mcp:read mcp:write offline_access",
    "application_type": "native",
}
MCP_REMOTE = {
    "redirect_uris": ["http://localhost:9696/oauth/callback"],
    "token_endpoint_auth_method": "none",
    "grant_types": GRANTS,
    "response_types": ["code"],
    "client_name": "MCP CLI Proxy",
    "client_uri": "https://github.com/modelcontextprotocol/mcp-cli",
    "software_id": "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
    "software_version": "0.15.1",
    "application_type": "native",
    "logo_uri": None,
}
VS_CODE = {
    "client_name": "Visual Studio Code",
    "redirect_uris": ["https://vscode.dev/redirect", "http://127.0.0.1/", "http://127.0.0.1:33418/"],
    "grant_types": [*GRANTS, "urn:ietf:params:oauth:grant-type:device_code"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "application_type": "native",
}
CURSOR = {
    "client_name": "Cursor",
    "redirect_uris": [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "some-new-app://callback",
    ],
    "token_endpoint_auth_method": "none",
}


def error_code_of(answer: Any) -> str:
    assert answer.status_code == 400, answer.content
    error: str = json_of(answer)["error"]
    return error


@pytest.mark.parametrize("body", [PYTHON, MCP_REMOTE, VS_CODE], ids=["python", "mcp-remote", "vs code"])
def test_registrations_of_real_clients_are_accepted(db: None, body: dict[str, Any]) -> None:
    answer = register(body)

    payload = json_of(answer)
    assert answer.status_code == 201
    assert answer["Cache-Control"] == "no-store"
    assert payload["client_id"] == OAuthApplication.objects.get().client_id
    assert payload["client_id_issued_at"] > 1_700_000_000
    assert payload["redirect_uris"] == body["redirect_uris"]
    assert payload["grant_types"] == GRANTS
    assert payload["response_types"] == ["code"]
    assert payload["token_endpoint_auth_method"] == "none"
    assert payload["client_name"] == body["client_name"]
    assert payload["application_type"] == "native"
    assert payload["scope"] == "mcp:read mcp:write"
    assert "client_secret" not in payload


def test_one_unknown_scheme_does_not_refuse_the_others(cast: Cast) -> None:
    payload = json_of(register(CURSOR))

    assert payload["redirect_uris"] == CURSOR["redirect_uris"][:2]
    client = OAuthClient(payload["client_id"], redirect_uri=CURSOR["redirect_uris"][0])
    assert client.connect(cast.member).scope == "mcp:read"


def test_a_scheme_of_its_own_is_for_clients_without_a_secret(cast: Cast) -> None:
    uris = ["com.example.app:/oauth2redirect"]

    public = register({"redirect_uris": uris})
    confidential = register({"redirect_uris": uris, "token_endpoint_auth_method": "client_secret_post"})

    assert (public.status_code, json_of(public)["redirect_uris"]) == (201, uris)
    assert (confidential.status_code, json_of(confidential)["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://localhost.evil.example/cb",
        "http://evil@localhost/cb",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://x/",
        "https://client.example/cb#x",
        "https://client.example/cb#",
        "https://",
        "https:/client.example/cb",
        "https://client.example:x/cb",
        "https://user:pass@client.example/cb",
        "https://[::1/cb",
        "https://client.example/c b",
        "https://client.example/\u0000",
        "https://client.example/\n",
        "https://client.example/\u202ecb",
        "https://clïent.example/cb",
        "https://good.example%2eevil.example/cb",
        "https://good.example;sandbox/cb",
        "https://good.example,evil.example/cb",
        "https://*.example/cb",
        "https://2130706433/cb",
        "https://127.1/cb",
        "https://0x7f.1/cb",
        "https://[fe80::1%25;sandbox]/cb",
        "https://client.example/" + "a" * 500,
        "//client.example/cb",
        "client.example/cb",
        "",
    ],
)
def test_a_callback_that_could_harm_refuses_the_whole_registration(db: None, uri: str) -> None:
    """Fault: the library takes `http://evil.example/cb`."""
    assert error_code_of(register({"redirect_uris": [CALLBACK, uri]})) == "invalid_redirect_uri"
    assert not OAuthApplication.objects.exists()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": ["some-new-app://callback"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [f"https://c{number}.example/" for number in range(21)]}, "invalid_redirect_uri"),
        ({"redirect_uris": CALLBACK}, "invalid_client_metadata"),
        ({"redirect_uris": [7]}, "invalid_client_metadata"),
        (
            {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt"},
            "invalid_client_metadata",
        ),
        ({"redirect_uris": [CALLBACK], "grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "response_types": ["token"]}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "client_name": {}}, "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
        (None, "invalid_client_metadata"),
    ],
)
def test_metadata_we_cannot_serve_is_refused(db: None, body: Any, error: str) -> None:
    assert error_code_of(register(body)) == error


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 5000,
        b'{"client_name":"\\ud800","redirect_uris":["https://a.example/"]}',
        b"x" * 20_000,
    ],
    ids=["empty", "half", "no utf-8", "deep", "surrogate", "large"],
)
def test_invalid_metadata_gets_a_json_answer(db: None, body: bytes) -> None:
    answer = Client().post("/oauth/register", body, content_type="application/json")

    assert error_code_of(answer) == "invalid_client_metadata"


def test_the_same_public_client_is_one_row_whatever_port_it_listens_on(db: None) -> None:
    answers = [
        register({**MCP_REMOTE, "redirect_uris": [f"http://localhost:{port}/oauth/callback"]})
        for port in (3334, 9696, 55555)
    ]

    assert len({json_of(answer)["client_id"] for answer in answers}) == 1
    assert OAuthApplication.objects.count() == 1


def test_another_name_or_callback_is_another_client(db: None) -> None:
    bodies = [MCP_REMOTE, {**MCP_REMOTE, "client_name": "Other"}, {**MCP_REMOTE, "redirect_uris": [CALLBACK]}]

    assert len({json_of(register(body))["client_id"] for body in bodies}) == 3


def test_clients_with_a_secret_are_never_one_row(db: None) -> None:
    body = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"}

    first, second = json_of(register(body)), json_of(register(body))

    assert first["client_id"] != second["client_id"]
    assert first["client_secret"] != second["client_secret"]
    assert first["client_secret_expires_at"] == 0
    stored = OAuthApplication.objects.get(client_id=first["client_id"]).client_secret
    assert stored.startswith("finops_random_secret$")


def test_a_name_holds_nothing_that_could_deceive(db: None) -> None:
    payload = json_of(
        register({"redirect_uris": [CALLBACK], "client_name": "Claude\u202e\n\t<b>\u0000 x" + "y" * 500})
    )

    assert payload["client_name"].startswith("Claude <b> x")
    assert len(payload["client_name"]) == 80


def test_an_address_that_registers_too_often_waits(db: None, settings: Any) -> None:
    settings.OAUTH_REGISTER_PER_MINUTE = 2
    http = Client(REMOTE_ADDR="192.0.2.9")
    body = json.dumps(PYTHON)

    answers = [http.post("/oauth/register", body, content_type="application/json") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [201, 201, 429]
    seconds = answers[-1]["Retry-After"]
    assert int(seconds) >= 1
    assert json_of(answers[-1]) == {
        "error": "temporarily_unavailable",
        "error_description": f"Too many requests; wait {seconds} s.",
    }


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"REMOTE_ADDR": "2001:db8:1:1::1"}, {"REMOTE_ADDR": "2001:db8:1:1:ffff::2"}, True),
        ({"REMOTE_ADDR": "2001:db8:1:1::1"}, {"REMOTE_ADDR": "2001:db8:1:2::1"}, False),
        ({"HTTP_X_FORWARDED_FOR": "1.1.1.1"}, {"HTTP_X_FORWARDED_FOR": "2.2.2.2"}, True),
    ],
    ids=["one network", "two networks", "a header that nobody vouches for"],
)
def test_the_client_of_a_rate_limit_is_an_address_or_a_network(
    db: None, settings: Any, first: dict[str, str], second: dict[str, str], same: bool
) -> None:
    settings.OAUTH_REGISTER_PER_MINUTE = 1
    body = json.dumps(PYTHON)

    answers = [
        Client().post("/oauth/register", body, "application/json", **{"REMOTE_ADDR": "192.0.2.10", **who})  # type: ignore[arg-type]
        for who in (first, second)
    ]

    assert [answer.status_code for answer in answers][-1] == (429 if same else 201)


def test_behind_our_proxy_the_address_is_the_one_that_it_wrote(db: None, settings: Any) -> None:
    settings.OAUTH_REGISTER_PER_MINUTE = 1
    settings.PROXY_COUNT = 1
    body = json.dumps(PYTHON)

    statuses = [
        Client(HTTP_X_FORWARDED_FOR=f"{forged}, {true}")
        .post("/oauth/register", body, content_type="application/json")
        .status_code
        for forged, true in (("1.1.1.1", "192.0.2.11"), ("2.2.2.2", "192.0.2.11"), ("1.1.1.1", "192.0.2.12"))
    ]

    assert statuses == [201, 429, 201]


def test_an_operator_may_register_a_client_by_command(cast: Cast) -> None:
    """For connectors whose makers want an id and a secret typed in."""
    redirect_uri, output = "https://claude.ai/api/mcp/auth_callback", StringIO()
    command = ["createapplication", "confidential", "authorization-code", "--redirect-uris", redirect_uri]
    call_command(*command, "--client-id", "claude", "--client-secret", "s" * 40, stdout=output)
    client = OAuthClient("claude", redirect_uri=redirect_uri)

    answer = client.exchange(client.code(cast.member), client_secret="s" * 40)

    assert answer.status_code == 200
    assert OAuthApplication.objects.get().client_secret.startswith("finops_random_secret$")


def test_no_way_in_stores_an_http_callback_off_this_machine() -> None:
    """The library's validation takes any http URI; operators and commands come through this."""
    application = OAuthApplication(
        client_type="public",
        authorization_grant_type="authorization-code",
        redirect_uris="http://evil.example/cb",
    )

    with pytest.raises(
        ValidationError, match=r"http is allowed only for localhost, 127\.0\.0\.1 and \[::1\]; use https"
    ):
        application.clean()
