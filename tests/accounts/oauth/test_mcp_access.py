"""Access tokens at /api/mcp: their scopes are checked on every request, with one statement."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.audit import Actor
from accounts.credentials import Access, authenticate_bearer
from accounts.models import Membership, OAuthAccessToken, OAuthConnection
from accounts.services import change_role, remove_member
from finops.lib import clock
from mcpserver.views import PATH
from tests.accounts.oauth.flow import OAuthClient, Tokens, mcp_status
from tests.cast import Cast
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import McpClient, toy_server
from tests.mcpserver.toys import make_toys

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PUSH = "/api/usage/events"


def membership(cast: Cast, person: str) -> Membership:
    return Membership.objects.select_related("user", "account").get(
        account=cast.account, user=cast.person(person)
    )


def tools_of(tokens: Tokens) -> set[str]:
    mcp_client = McpClient(tokens.access, toy_server(make_toys()))
    return {tool["name"] for tool in mcp_client.result("tools/list")["tools"]}


def rename(tokens: Tokens) -> Any:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "rename", "arguments": {"name": "Renamed"}},
    }
    return McpClient(tokens.access, toy_server(make_toys())).http(json.dumps(body).encode())


def test_a_read_only_token_sees_the_tools_it_may_call(cast: Cast) -> None:
    client = OAuthClient()

    read, write = client.connect(cast.member), client.connect(cast.member, access="read_write")

    assert tools_of(write) - tools_of(read) >= {"rename"}


@requirement("tools:step-up")
def test_a_write_tool_asks_a_read_only_token_to_step_up(cast: Cast) -> None:
    answer = rename(OAuthClient().connect(cast.member))

    assert answer.status_code == 403
    assert answer["WWW-Authenticate"] == (
        'Bearer error="insufficient_scope", error_description="rename needs read/write access", '
        'scope="mcp:read mcp:write", '
        'resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/api/mcp"'
    )
    cast.account.refresh_from_db()
    assert cast.account.name == "Acme"


def test_a_client_that_steps_up_writes_in_the_name_of_the_person(cast: Cast) -> None:
    client = OAuthClient()
    client.connect(cast.member)

    answer = rename(client.connect(cast.member, access="read_write"))

    assert answer.status_code == 200
    cast.account.refresh_from_db()
    assert cast.account.name == "Renamed"


def test_a_demoted_member_loses_writing_at_once_and_keeps_reading(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member, access="read_write")

    change_role(membership=membership(cast, "member"), role="viewer", actor=Actor.of_user(cast.owner))

    assert (rename(tokens).status_code, mcp_status(tokens.access)) == (403, 200)


def test_a_removed_member_loses_everything_at_once(cast: Cast) -> None:
    client = OAuthClient()
    here, there = client.connect(cast.both), client.connect(cast.both, account="elsewhere")

    remove_member(membership=membership(cast, "both"), actor=Actor.of_user(cast.owner))

    assert [mcp_status(tokens.access) for tokens in (here, there)] == [401, 200]
    assert client.refresh(here.refresh).status_code == 400
    assert [row.account for row in OAuthConnection.objects.unscoped()] == [cast.other_account]


def test_a_membership_that_vanished_otherwise_ends_the_token_too(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member)

    Membership.objects.filter(user=cast.member).delete()

    assert mcp_status(tokens.access) == 401


def test_a_deactivated_person_has_no_token(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member)
    cast.member.is_active = False
    cast.member.save()

    assert mcp_status(tokens.access) == 401


@pytest.mark.parametrize(
    "resource",
    [
        [],
        ["https://other.example/api/mcp"],
        ["http://127.0.0.1:8000"],
        ["http://127.0.0.1:8000/api/mcp", "https://other.example/"],
    ],
    ids=["none", "another", "a prefix", "more than one"],
)
def test_a_token_for_another_resource_or_for_none_is_refused(cast: Cast, resource: list[str]) -> None:
    """Faults F: the library takes a token without a resource everywhere."""
    tokens = OAuthClient().connect(cast.member)
    OAuthAccessToken.objects.update(resource=resource)

    assert mcp_status(tokens.access) == 401


def test_a_token_of_this_server_at_another_address_is_refused(cast: Cast, settings: Any) -> None:
    tokens = OAuthClient().connect(cast.member)
    settings.PUBLIC_URL = "https://finops.example"

    assert mcp_status(tokens.access) == 401


def test_an_expired_token_is_refused(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member)
    OAuthAccessToken.objects.update(expires=clock.now() - timedelta(seconds=1))

    assert mcp_status(tokens.access) == 401


def test_a_narrowed_token_may_not_write_though_its_connection_may(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member, access="read_write")
    narrow = client.refresh(tokens.refresh, scope="mcp:read").json()["access_token"]

    credential = authenticate_bearer(narrow)

    assert credential is not None
    assert credential.access is Access.READ


def test_a_token_of_one_account_answers_about_that_account(cast: Cast) -> None:
    client = OAuthClient()
    for slug, name in (("acme", "Acme"), ("elsewhere", "Elsewhere")):
        tokens = client.connect(cast.both, account=slug)
        result = McpClient(tokens.access).call("getAccountContext", account="elsewhere", account_id=1)
        assert "isError" in result
        context = McpClient(tokens.access).ask("getAccountContext")
        assert json.dumps(context["account"]).count(name) >= 1


@pytest.mark.parametrize("kind", ["access", "refresh"])
def test_no_oauth_token_is_accepted_by_the_push_endpoint_or_a_page(cast: Cast, kind: str) -> None:
    token = getattr(OAuthClient().connect(cast.member, access="read_write"), kind)
    headers = {"authorization": f"Bearer {token}"}

    pushed = Client().post(PUSH, b"{}", content_type="application/json", headers=headers)
    page = Client().get("/a/acme/", headers=headers)
    form = Client().post("/a/acme/settings/members/invite/", {"email": "x@example.com"}, headers=headers)

    assert pushed.status_code == 401
    assert [page.status_code, form.status_code] == [302, 302]


def test_a_refresh_token_or_a_code_is_no_access_token(cast: Cast) -> None:
    client = OAuthClient()
    code = client.code(cast.member)
    tokens = client.connect(cast.member)

    assert [mcp_status(text) for text in (code, tokens.refresh)] == [401, 401]


def test_each_use_is_recorded_with_the_program_that_made_it(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member)
    assert OAuthConnection.objects.unscoped().get().last_used_at is None

    McpClient(tokens.access).http(b"not json", {"user-agent": "Claude-User/1.0"})
    McpClient(tokens.access).http(PING, {"user-agent": ""})

    row = OAuthConnection.objects.unscoped().get()
    assert row.last_used_at is not None
    assert row.last_client == "Claude-User/1.0"


def test_a_token_costs_one_statement_and_invalid_text_none(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member)

    with CaptureQueriesContext(
        connection,
    ) as real:
        assert authenticate_bearer(tokens.access, client="tests") is not None
    with CaptureQueriesContext(connection) as none:
        assert authenticate_bearer("foat_short") is None
        assert authenticate_bearer(tokens.refresh) is None

    assert (len(real), len(none)) == (1, 0)


def test_a_whole_ping_is_that_one_statement(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member)

    with CaptureQueriesContext(connection) as captured:
        assert mcp_status(tokens.access) == 200

    assert len(captured) == 1


def test_the_limit_of_requests_is_of_each_connection(cast: Cast, settings: Any) -> None:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 2
    client = OAuthClient()
    first, other = client.connect(cast.member), client.connect(cast.member)

    assert [mcp_status(first.access) for _ in range(3)] == [200, 200, 429]
    assert mcp_status(client.refresh(first.refresh).json()["access_token"]) == 429
    assert mcp_status(other.access) == 200


def test_a_browser_page_of_an_allowed_origin_reads_the_answer(cast: Cast, settings: Any) -> None:
    settings.MCP_ALLOWED_ORIGINS = ["https://inspector.example"]
    tokens = OAuthClient().connect(cast.member)
    origin = {"origin": "https://inspector.example"}

    for answer in (McpClient(tokens.access).http(PING, origin), McpClient(None).http(PING, origin)):
        assert answer["Access-Control-Allow-Origin"] == "https://inspector.example"
        assert answer["Vary"] == "Origin"
        assert "WWW-Authenticate" in answer["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer


def test_a_browser_can_send_a_preflight_request_to_the_endpoint(db: None, settings: Any) -> None:
    settings.MCP_ALLOWED_ORIGINS = ["https://inspector.example"]
    asks = {"access-control-request-method": "POST", "origin": "https://inspector.example"}

    answer = Client().options(PATH, headers=asks)

    assert answer.status_code == 204
    assert "Mcp-Method" in answer["Access-Control-Allow-Headers"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "http://127.0.0.1:9"]
)
def test_a_page_of_another_origin_gets_nothing_it_could_read(cast: Cast, origin: str) -> None:
    tokens = OAuthClient().connect(cast.member, access="read_write")
    asks = {"access-control-request-method": "POST", "origin": origin}

    answers = [Client().options(PATH, headers=asks), McpClient(tokens.access).http(PING, {"origin": origin})]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert not any("Access-Control-Allow-Origin" in answer for answer in answers)
