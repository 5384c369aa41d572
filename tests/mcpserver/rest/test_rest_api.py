"""The REST API over HTTP: who gets in, what is refused with which problem, and what is recorded."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from openapi_spec_validator import validate

from accounts.audit import Actor
from accounts.keys import mint_mcp_key, revoke_mcp_key
from accounts.models import MCPKey, Membership, OAuthAccessToken
from accounts.services import change_role
from accounts.services.suspension import resume_account, suspend_account
from finops.activity.models import CallMethod, CallOutcome
from finops.budgets.models import Budget
from finops.lib import clock
from mcpserver.registry import ToolAccess, registry
from mcpserver.rest.openapi import document
from mcpserver.rest.problems import PROBLEM_TYPES
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast, signed_in
from tests.finops.activity.call_helpers import stored_calls
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.rest.rest_client import TOOLS, RestClient, problem_of
from tests.pages import get_page

BUDGET = {"name": "Core", "amount": 1500.5, "currency": "USD"}


def budgets(cast: Cast) -> list[str]:
    return [budget.name for budget in Budget.objects.unscoped().filter(account=cast.account)]


def test_the_list_has_each_tool_that_the_credential_can_call(reader: RestClient, writer: RestClient) -> None:
    readable = [tool.name for tool in registry if tool.access is ToolAccess.READ]

    answer = reader.http(TOOLS, method="GET")

    assert answer.status_code == 200
    assert [each["name"] for each in json.loads(answer.content)["tools"]] == readable
    everything = json.loads(writer.http(TOOLS, method="GET").content)["tools"]
    assert [each["name"] for each in everything] == list(registry.names())
    assert {each["access"] for each in everything} == {"read", "write"}


def test_a_write_happens_with_a_read_write_key_and_is_audited_as_of_the_key(
    cast: Cast, writer: RestClient
) -> None:
    answer = writer.ask("create_budget", **BUDGET)

    assert answer["budget"]["amount"] == 1500.5
    assert budgets(cast) == ["Core"]


def test_a_write_with_a_read_only_key_is_refused_with_instructions(cast: Cast, reader: RestClient) -> None:
    problem = reader.problem("create_budget", status=403, **BUDGET)

    assert problem["title"] == "Not allowed"
    assert problem["detail"] == McpClient(reader.key).problem("create_budget", **BUDGET)
    assert "settings/mcp-keys/" in problem["detail"]
    assert budgets(cast) == []


def test_a_write_with_a_read_only_oauth_token_asks_for_more_scope(cast: Cast) -> None:
    token = OAuthClient().connect(cast.member, access="read").access

    response = RestClient(token).call("create_budget", BUDGET)

    assert problem_of(response, 403)["detail"] == "create_budget needs read/write access"
    assert 'error="insufficient_scope"' in response["WWW-Authenticate"]
    assert budgets(cast) == []


def test_a_member_who_becomes_a_viewer_writes_no_more(cast: Cast) -> None:
    token = OAuthClient().connect(cast.member, access="read_write").access
    membership = Membership.objects.get(account=cast.account, user=cast.member)
    change_role(membership=membership, role="viewer", actor=Actor.of_user(cast.owner))

    assert problem_of(RestClient(token).call("create_budget", BUDGET), 403)
    assert budgets(cast) == []
    assert RestClient(token).ask("listBudgets")["budgets"] == []


def test_an_expired_key_and_an_expired_token_are_refused(cast: Cast) -> None:
    soon = clock.now() + timedelta(minutes=5)
    _key, key = mint_mcp_key(account=cast.account, actor=cast.actor, name="soon", expires_at=soon)
    token = OAuthClient().connect(cast.member).access
    assert RestClient(key).call("listBudgets").status_code == 200
    OAuthAccessToken.objects.update(expires=clock.now() - timedelta(seconds=1))

    with clock.frozen(soon + timedelta(seconds=1)):
        assert problem_of(RestClient(key).call("listBudgets"), 401)
        assert problem_of(RestClient(token).call("listBudgets"), 401)


def test_a_key_reads_its_own_account_alone(cast: Cast, writer: RestClient) -> None:
    writer.ask("create_budget", **BUDGET)
    _key, other = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="other")

    assert RestClient(other).ask("listBudgets")["budgets"] == []
    assert RestClient(other).ask("getAccountContext")["account"] != writer.ask("getAccountContext")["account"]


def test_a_revoked_key_an_unknown_one_and_none_are_refused(cast: Cast) -> None:
    revoked = mint(cast)
    revoke_mcp_key(key=MCPKey.objects.unscoped().get(), actor=cast.actor)

    for token in (revoked, "fmcp_unknown", None):
        response = RestClient(token).call("listBudgets")
        problem = problem_of(response, 401)
        assert problem["title"] == "Credential missing or invalid"
        assert response["WWW-Authenticate"].startswith("Bearer ")


def test_a_suspended_account_is_refused_until_it_is_resumed(cast: Cast, reader: RestClient) -> None:
    suspend_account(account=cast.account, actor=cast.actor)

    for response in (reader.call("listBudgets"), reader.http(TOOLS, method="GET")):
        assert "is suspended" in problem_of(response, 403)["detail"]

    resume_account(account=cast.account, actor=cast.actor)
    assert reader.call("listBudgets").status_code == 200


def test_a_session_is_no_credential(cast: Cast) -> None:
    answer = signed_in(cast.owner).post(f"{TOOLS}/listBudgets", {}, "application/json")

    assert problem_of(answer, 401)


def test_an_invalid_argument_is_named_with_the_valid_ones(reader: RestClient) -> None:
    problem = reader.problem("querySpend", group_by=["colour"])

    assert problem["title"] == "Invalid arguments"
    assert "colour" in problem["detail"]
    assert problem["detail"] == McpClient(reader.key).problem("querySpend", group_by=["colour"])
    assert reader.problem("querySpend", topp=3)["field"] == "topp"


def test_an_unknown_tool_is_answered_with_the_nearest(reader: RestClient) -> None:
    problem = reader.problem("listBudget", status=404)

    assert "Nearest: listBudgets" in problem["detail"]
    assert "GET /api/v1/tools has them all." in problem["detail"]


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'"text"', b"[" * 2_000, b"NaN"])
def test_a_body_that_is_no_object_is_refused(reader: RestClient, body: bytes) -> None:
    assert problem_of(reader.http(f"{TOOLS}/listBudgets", body), 400)["title"] == "Invalid request"


def test_a_tool_without_required_arguments_takes_an_empty_body(reader: RestClient) -> None:
    assert reader.http(f"{TOOLS}/listBudgets").status_code == 200


def test_each_path_says_its_method(reader: RestClient) -> None:
    for path, method, allowed in [
        (f"{TOOLS}/listBudgets", "GET", "POST"),
        (TOOLS, "POST", "GET"),
        ("/api/v1/openapi.json", "POST", "GET, HEAD"),
    ]:
        response = reader.http(path, method=method)
        assert problem_of(response, 405)
        assert response["Allow"] == allowed
    assert problem_of(reader.http("/api/v1/nothing", method="GET"), 404)
    assert reader.http(f"{TOOLS}/listBudgets/").status_code == 200
    assert problem_of(RestClient(None).http("/api/v1/nothing", method="GET"), 401)


def test_rest_and_mcp_share_the_rate_limit_of_a_key(reader: RestClient, settings: Any) -> None:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 2
    reader.ask("listBudgets")
    McpClient(reader.key).ask("listBudgets")

    response = reader.call("listBudgets")

    assert "More than 2 requests in a minute" in problem_of(response, 429)["detail"]
    assert int(response["Retry-After"]) > 0


def test_a_large_body_is_refused(reader: RestClient, settings: Any) -> None:
    settings.MCP_MAX_BODY_BYTES = 100

    assert problem_of(reader.call("listBudgets", {"cursor": "x" * 100}), 413)


def test_a_foreign_origin_is_refused_and_an_allowed_one_may_read_the_answer(
    reader: RestClient, settings: Any
) -> None:
    settings.MCP_ALLOWED_ORIGINS = ["https://app.example"]
    body = b"{}"

    refusal = reader.http(f"{TOOLS}/listBudgets", body, headers={"origin": "https://evil.example"})
    allowed = reader.http(f"{TOOLS}/listBudgets", body, headers={"origin": "https://app.example"})
    preflight = RestClient(None).http(
        f"{TOOLS}/listBudgets",
        method="OPTIONS",
        headers={"origin": "https://app.example", "access-control-request-method": "POST"},
    )

    assert problem_of(refusal, 403)
    assert allowed["Access-Control-Allow-Origin"] == "https://app.example"
    assert (preflight.status_code, preflight["Access-Control-Allow-Methods"]) == (204, "GET, POST")


def test_a_fault_of_ours_and_an_absent_database_say_so(
    reader: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, status in ((RuntimeError, 500), (OperationalError, 503)):

        def fail(*_: Any, error: type[Exception] = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr("mcpserver.rest.endpoint.run_named_tool", fail)
        problem = problem_of(reader.call("listBudgets"), status)
        assert problem["incident"] in problem["detail"]


def test_a_call_is_recorded_as_of_the_api(cast: Cast, reader: RestClient) -> None:
    reader.ask("listBudgets", limit=5)
    reader.problem("create_budget", status=403, **BUDGET)
    reader.problem("listBudget", status=404)

    calls = stored_calls(cast.account)

    assert {call.method for call in calls} == {CallMethod.API}
    assert sorted((call.name, call.outcome) for call in calls) == [
        ("create_budget", CallOutcome.REFUSED),
        ("listBudget", CallOutcome.REFUSED),
        ("listBudgets", CallOutcome.OK),
    ]
    page = get_page(signed_in(cast.owner), "/a/acme/assistant-activity/")
    assert "API" in page


def test_the_document_is_public_valid_and_has_every_tool(db: None) -> None:
    answer = Client().get("/api/v1/openapi.json")

    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Origin"] == "*"
    validate(answer.json())
    paths = answer.json()["paths"]
    assert {path for path in paths if path.startswith(f"{TOOLS}/")} == {
        f"{TOOLS}/{name}" for name in registry.names()
    }


def test_every_status_of_the_problems_is_documented() -> None:
    responses = document()["components"]["responses"]

    assert set(responses) == {each.name for each in PROBLEM_TYPES.values()}


def test_the_reference_has_every_tool_argument_and_status(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), "/a/acme/help/rest-api/")

    names = [name for tool in registry for name in (tool.name, *tool.input_schema["properties"])]
    names += [str(status) for status in PROBLEM_TYPES if status != 404]
    assert [name for name in names if name not in page] == []
    assert signed_in(cast.stranger).get("/a/acme/help/rest-api/").status_code == 404
