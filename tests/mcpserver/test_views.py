"""POST /api/mcp as HTTP: who gets in, how much, and in which form the answer is."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.audit import Actor
from accounts.keys import mint_mcp_key, revoke_mcp_key
from accounts.models import MCPKey, User
from finops.lib import clock
from mcpserver.jsonrpc import parse
from mcpserver.views import ID_BYTES, PATH, endpoint
from tests.cast import Cast
from tests.conformance import schemas
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import META, McpClient, mint

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
NOTE = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def key_row() -> MCPKey:
    return MCPKey.objects.unscoped().get()


def json_of(response: HttpResponse) -> dict[str, Any]:
    assert response["Content-Type"] == "application/json"
    content: dict[str, Any] = json.loads(response.content)
    return content


def check_refusal(response: HttpResponse, *, id_: str | int | None) -> None:
    """A JSON-RPC error with the id of its request; null, which JSON-RPC asks for and no schema of MCP has, for none."""
    answer = json_of(response)
    assert "id" in answer
    assert answer["id"] == id_
    assert answer["error"]["code"] == response.status_code
    schemas.check_error(
        schemas.MODERN, {name: answer[name] for name in answer if name != "id" or id_ is not None}
    )


def test_the_path_is_the_one_of_the_interface() -> None:
    assert reverse("mcp") == PATH == "/api/mcp"


@requirement("http:only-post")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_post_is_served(mcp_client: McpClient, method: str) -> None:
    response = mcp_client.http(b"", method=method)

    assert response.status_code == 405
    assert response["Allow"] == "POST"
    assert "Use POST." in json_of(response)["error"]["message"]


@requirement("http:credential-first", "http:challenge")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_without_a_credential_the_challenge_leads_to_the_authorization_server(
    db: None, settings: Any, method: str
) -> None:
    settings.PUBLIC_URL = "https://finops.example"

    response = McpClient(None).http(PING, method=method)

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == (
        'Bearer scope="mcp:read mcp:write", '
        'resource_metadata="https://finops.example/.well-known/oauth-protected-resource/api/mcp"'
    )
    check_refusal(response, id_=1)


@requirement("http:credential-first")
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"not json", {}),
        (b"x" * 2_000_000, {}),
        (PING, {"origin": "http://evil.example.com"}),
        (PING, {"host": "evil.example.com"}),
    ],
    ids=["not json", "too large", "foreign origin", "foreign host"],
)
def test_whatever_else_is_wrong_the_credential_comes_first(
    db: None, body: bytes, headers: dict[str, str]
) -> None:
    assert McpClient(None).http(body, headers).status_code == 401
    assert McpClient("fmcp_wrong").http(body, headers).status_code == 401


@requirement("http:challenge", "http:other-credentials")
@pytest.mark.parametrize(
    "header",
    [
        "Bearer fmcp_unknown",
        "Bearer fuse_0123456789",
        "Bearer ",
        "Bearer",
        "Bearer a b",
        "Basic dXNlcjpwYXNz",
        "fmcp_0000000000",
        "Bearer \x00",
        "Bearer é",
        "Bearer " + "a" * 5000,
    ],
)
def test_a_malformed_or_unknown_token_is_invalid(db: None, header: str) -> None:
    response = McpClient(None).http(PING, {"authorization": header})

    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith('Bearer error="invalid_token", error_description="')
    assert 'scope="mcp:read mcp:write"' in response["WWW-Authenticate"]
    assert "\n" not in response["WWW-Authenticate"]


@requirement("http:other-credentials")
def test_a_revoked_key_is_dead_on_its_next_request(cast: Cast) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="short-lived")
    assert McpClient(plaintext).http(PING).status_code == 200

    revoke_mcp_key(key=key, actor=cast.actor)

    assert McpClient(plaintext).http(PING).status_code == 401


@requirement("http:other-credentials")
def test_an_expired_key_is_refused(cast: Cast) -> None:
    soon = clock.now() + timedelta(hours=1)
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="for an hour", expires_at=soon)
    assert McpClient(plaintext).http(PING).status_code == 200

    MCPKey.objects.unscoped().filter(pk=key.pk).update(expires_at=clock.now() - timedelta(seconds=1))

    assert McpClient(plaintext).http(PING).status_code == 401


BODIES: list[tuple[bytes, str | int | None]] = [
    (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":[1,{"id":8}]}}', 7),
    (b'{"method":"tools/call","params":{},"jsonrpc":"2.0","id":"seven"}', "seven"),
    (NOTE, None),
    (b'{"jsonrpc":"2.0","id":7', None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
    (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None),
    (b"\xff", None),
    (b"[" * 100_000, None),
    (b"", None),
]
NAMES = ["id first", "id last", "notification", "broken off", "no id", "batch", "no text", "nested", "empty"]


@requirement("http:id-of-a-refusal")
@pytest.mark.parametrize(("body", "id_"), BODIES, ids=NAMES)
def test_an_http_refusal_is_a_json_rpc_error_with_the_id_of_its_request(
    cast: Cast, settings: Any, body: bytes, id_: str | int | None
) -> None:
    mcp_client = McpClient(mint(cast))
    whole = body.ljust(1_048_577)

    for response in (McpClient(None).http(body), McpClient("fmcp_wrong").http(body)):
        assert response.status_code == 401
        assert response["WWW-Authenticate"].startswith("Bearer ")
        check_refusal(response, id_=id_)
    foreign, large = mcp_client.http(body, {"origin": "http://evil.example.com"}), mcp_client.http(whole)
    settings.MCP_RATE_LIMIT_PER_MINUTE = 1
    limited = mcp_client.http(body)

    assert [each.status_code for each in (foreign, large, limited)] == [403, 413, 429]
    for response in (foreign, large, limited):
        check_refusal(response, id_=id_)


@requirement("http:id-of-a-refusal")
def test_only_a_small_body_is_read_from_a_client_without_a_valid_key(db: None) -> None:
    body = PING.ljust(ID_BYTES + 1)
    stream = BytesIO(body)

    response = endpoint(request_of(body, stream))

    assert response.status_code == 401
    check_refusal(response, id_=None)
    assert stream.tell() == 0


def request_of(announced: bytes, stream: Any) -> HttpRequest:
    """A request without credential that announces one body and brings another."""
    request: Any = RequestFactory().post(PATH, announced, content_type="application/json")
    request._stream = stream
    typed_request: HttpRequest = request
    return typed_request


@requirement("http:header-only")
def test_a_key_counts_in_the_authorization_header_alone(cast: Cast) -> None:
    key = mint(cast)

    in_query = Client().post(f"{PATH}?access_token={key}&key={key}", PING, content_type="application/json")
    in_form = Client().post(PATH, {"access_token": key})
    in_cookie = Client(headers={"cookie": f"token={key}"}).post(PATH, PING, content_type="application/json")

    assert [answer.status_code for answer in (in_query, in_form, in_cookie)] == [401, 401, 401]
    assert key_row().last_used_at is None


@requirement("http:other-credentials")
def test_a_session_opens_nothing_here(cast: Cast, client_for: Callable[[User], Client]) -> None:
    response = client_for(cast.owner).post(PATH, PING, content_type="application/json")

    assert response.status_code == 401
    assert not response.cookies


@requirement("http:last-used")
@pytest.mark.parametrize(
    ("status", "body", "headers", "method"),
    [
        (200, PING, {}, "POST"),
        (202, NOTE, {}, "POST"),
        (400, b"not json", {}, "POST"),
        (400, PING, {"host": "evil.example.com"}, "POST"),
        (403, PING, {"origin": "http://evil.example.com"}, "POST"),
        (405, b"", {}, "GET"),
        (413, b"x" * 1_048_577, {}, "POST"),
    ],
)
def test_every_request_made_with_a_key_is_a_use_of_it(
    cast: Cast, status: int, body: bytes, headers: dict[str, str], method: str
) -> None:
    mcp_client = McpClient(mint(cast))

    response = mcp_client.http(body, {"user-agent": "tests/1.0", **headers}, method)

    assert response.status_code == status
    assert key_row().last_used_at is not None
    assert key_row().last_client == "tests/1.0"


@requirement("http:last-used", "http:rate-limit")
def test_more_requests_than_the_limit_are_refused_until_the_window_moves_on(
    cast: Cast, settings: Any
) -> None:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 3
    mcp_client, other = McpClient(mint(cast)), McpClient(mint(cast))
    answers = [mcp_client.http(PING) for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60
    assert json_of(answers[-1])["error"]["message"].startswith("More than 3 requests in a minute")
    assert other.http(PING).status_code == 200


@requirement("http:rate-limit")
def test_a_batch_counts_as_the_requests_it_holds(cast: Cast, settings: Any) -> None:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 10
    mcp_client = McpClient(mint(cast))
    batch = b"[" + b",".join([PING] * 6) + b"]"

    assert [mcp_client.http(batch).status_code for _ in range(2)] == [200, 429]


def test_no_request_of_a_batch_begins_after_its_time(
    mcp_client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([100.0, 104.9, 105.1, 105.2])
    monkeypatch.setattr("mcpserver.protocol.time", SimpleNamespace(monotonic=lambda: next(times)))
    pings = [PING.replace(b'"id":1', b'"id":' + id_) for id_ in (b"1", b'"b"', b"3")]

    answers = json.loads(mcp_client.http(b"[" + b",".join([pings[0], NOTE, *pings[1:]]) + b"]").content)

    assert answers[0] == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert [(answer["id"], answer["error"]) for answer in answers[1:]] == [
        (
            id_,
            {
                "code": -32001,
                "message": "Not run, nothing was changed: earlier requests of the batch took "
                "more than 5 s. Send it again, alone or in a smaller batch.",
            },
        )
        for id_ in ("b", 3)
    ]


def test_a_batch_with_too_many_messages_is_read_only_up_to_the_limit(mcp_client: McpClient) -> None:
    response = mcp_client.http(b"[" + b"0," * 500_000 + b"0]")

    assert json_of(response)["error"]["message"] == "A batch must have 1 to 50 messages."
    assert len(parse(b"[" + b"0," * 500_000 + b"0]").messages) == 51  # type: ignore[union-attr]


@requirement("http:origin")
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://testserver", 200),
        ("https://finops.example", 200),
        ("https://inspector.example", 200),
        ("http://evil.example.com", 403),
        ("null", 403),
        ("", 403),
        ("http://testserver.evil.example", 403),
        ("https://testserver", 403),
    ],
)
def test_a_foreign_origin_is_refused(
    mcp_client: McpClient, settings: Any, origin: str | None, status: int
) -> None:
    settings.PUBLIC_URL = "https://finops.example"
    settings.MCP_ALLOWED_ORIGINS = ["https://inspector.example"]

    response = mcp_client.http(PING, {} if origin is None else {"origin": origin})

    assert response.status_code == status
    assert "error" in json_of(response) or status == 200


@requirement("http:host", "http:json-always")
def test_an_unknown_host_is_refused_in_json(mcp_client: McpClient) -> None:
    response = mcp_client.http(PING, {"host": "evil.example.com"})

    assert response.status_code == 400
    assert "host" in json_of(response)["error"]["message"]


@requirement("http:body-limit")
def test_a_body_of_exactly_the_limit_is_read(mcp_client: McpClient) -> None:
    padded = PING + b" " * (1_048_576 - len(PING))

    assert mcp_client.http(padded).status_code == 200
    assert mcp_client.http(padded + b" ").status_code == 413


@requirement("http:body-limit")
@pytest.mark.parametrize(("size", "status"), [(len(PING), 200), (3_000_000, 413), (9_000_000, 413)])
def test_a_chunked_body_is_read_to_its_end_or_four_times_the_limit(
    cast: Cast, size: int, status: int
) -> None:
    """As granian hands it over: no length, and an input that ends by itself."""
    stream = BytesIO(PING.ljust(size))
    request = RequestFactory().post(PATH, headers={"authorization": f"Bearer {mint(cast)}"})
    request.META.update({"CONTENT_LENGTH": "", "wsgi.input": stream, "wsgi.input_terminated": True})

    assert endpoint(request).status_code == status
    assert stream.tell() == min(size, 4 * 1_048_576 + 1)


@requirement("http:no-store", "http:json-always")
@pytest.mark.parametrize(("body", "status"), [(PING, 200), (b"{", 400), (NOTE, 202)])
def test_no_answer_may_be_stored_or_sniffed(mcp_client: McpClient, body: bytes, status: int) -> None:
    response = mcp_client.http(body)

    assert response.status_code == status
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"


@requirement("http:no-session")
def test_there_are_no_sessions(mcp_client: McpClient) -> None:
    response = mcp_client.http(PING, {"mcp-session-id": "made up", "last-event-id": "7"})

    assert response.status_code == 200
    assert "Mcp-Session-Id" not in response
    assert not response.cookies


@requirement("http:no-redirect")
def test_a_secure_deployment_does_not_redirect_the_endpoint(mcp_client: McpClient, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True

    assert mcp_client.http(PING).status_code == 200


def test_the_scheme_of_the_credential_is_read_in_any_case(cast: Cast) -> None:
    key = mint(cast)

    assert McpClient(None).http(PING, {"authorization": f"bEARER   {key} "}).status_code == 200


def test_a_client_need_not_say_what_it_accepts(mcp_client: McpClient) -> None:
    assert mcp_client.http(PING, {"accept": ""}).status_code == 200
    assert mcp_client.http(PING, {"accept": "text/html"}).status_code == 200


def test_another_accounts_key_answers_for_its_own_account(cast: Cast) -> None:
    _key, foreign_key = mint_mcp_key(
        account=cast.other_account, actor=Actor.of_user(cast.stranger), name="theirs"
    )
    names = {key.account_id for key in MCPKey.objects.unscoped()}

    assert McpClient(foreign_key).http(PING).status_code == 200
    assert names == {cast.other_account.pk}


def test_discover_works_through_the_whole_stack(mcp_client: McpClient) -> None:
    assert mcp_client.result("server/discover", {"_meta": META})["supportedVersions"] == [schemas.MODERN]
