"""Revisions 2025-03-26 to 2025-11-25: a handshake that we do not insist on, and a header."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance import schemas
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import META, McpClient

each_revision = pytest.mark.parametrize("revision", schemas.LEGACY)
OLDEST = schemas.LEGACY[-1]


def initialize_params(version: object = "2025-11-25") -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


@requirement("legacy:initialize", "methods:capabilities", "methods:instructions")
@each_revision
def test_initialize_echoes_a_version_that_we_speak(mcp_client: McpClient, revision: str) -> None:
    result = mcp_client.result("initialize", initialize_params(revision), revision=revision)

    assert result["protocolVersion"] == revision
    assert result["capabilities"] == {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
    assert "getAccountContext" in result["instructions"]


@requirement("legacy:initialize")
@pytest.mark.parametrize("version", ["2024-11-05", "2026-07-28", "2099-01-01", ""])
def test_initialize_offers_the_newest_legacy_version_instead_of_one_that_we_do_not_speak(
    mcp_client: McpClient, version: str
) -> None:
    assert (
        mcp_client.result("initialize", initialize_params(version), revision="2025-11-25")["protocolVersion"]
        == "2025-11-25"
    )


@requirement("legacy:initialize")
@pytest.mark.parametrize("version", [*schemas.REVISIONS, "v999"])
def test_initialize_may_come_with_any_version_header(mcp_client: McpClient, version: str) -> None:
    sent = {"mcp-protocol-version": version}

    assert mcp_client.result("initialize", initialize_params(), revision="2025-11-25", headers=sent)


@requirement("legacy:initialize", "legacy:errors-200")
def test_initialize_without_a_version_is_told_what_is_missing(mcp_client: McpClient) -> None:
    assert mcp_client.error("initialize", {}, revision="2025-11-25")["code"] == -32602


@requirement("legacy:ping", "legacy:stateless")
@each_revision
def test_ping_is_answered_without_a_handshake(mcp_client: McpClient, revision: str) -> None:
    assert mcp_client.result("ping", revision=revision) == {}


@requirement("legacy:errors-200", "rpc:id-echo")
@each_revision
@pytest.mark.parametrize("method", ["unknown/method", "server/discover", "logging/setLevel"])
def test_an_unknown_method_is_an_error_with_status_200(
    mcp_client: McpClient, revision: str, method: str
) -> None:
    assert mcp_client.error(method, revision=revision, status=200)["code"] == -32601


@requirement("legacy:missing-header", "legacy:fields")
def test_without_a_version_header_the_oldest_revision_is_assumed(mcp_client: McpClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    answer = json.loads(mcp_client.http(json.dumps(body).encode()).content)

    schemas.check_answer(OLDEST, "tools/list", answer)
    assert "title" not in answer["result"]["tools"][0]


@requirement("legacy:bad-header")
@pytest.mark.parametrize("version", ["2024-11-05", "v999", ""])
def test_an_unsupported_version_header_is_refused(mcp_client: McpClient, version: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    answers = [
        mcp_client.http(json.dumps(sent).encode(), {"mcp-protocol-version": version}) for sent in (body, note)
    ]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert all("2025-11-25" in json.loads(answer.content)["error"]["message"] for answer in answers)


@requirement("legacy:stateless")
def test_modern_routing_headers_on_a_legacy_request_mean_nothing(mcp_client: McpClient) -> None:
    """mcp-remote sends them always, and one notification without a version."""
    sent = {"mcp-method": "other", "mcp-name": "other"}

    assert mcp_client.result("tools/list", revision="2025-11-25", headers=sent)["tools"]


@requirement("rpc:response")
@each_revision
def test_a_response_is_accepted_and_dropped(mcp_client: McpClient, revision: str) -> None:
    response = mcp_client.http(b'{"jsonrpc":"2.0","id":1,"result":{}}', {"mcp-protocol-version": revision})

    assert (response.status_code, response.content) == (202, b"")


@requirement("legacy:fields")
@each_revision
def test_the_server_describes_itself_in_the_fields_of_the_revision(
    mcp_client: McpClient, revision: str
) -> None:
    info = mcp_client.result("initialize", initialize_params(revision), revision=revision)["serverInfo"]

    assert ("title" in info) == (revision >= "2025-06-18")
    assert (
        ("websiteUrl" in info) == ("description" in info) == ("icons" in info) == (revision >= "2025-11-25")
    )


@requirement("legacy:fields")
@each_revision
def test_tools_prompts_and_answers_have_the_fields_of_the_revision(
    mcp_client: McpClient, revision: str
) -> None:
    tool = mcp_client.result("tools/list", revision=revision)["tools"][0]
    prompt = mcp_client.result("prompts/list", revision=revision)["prompts"][0]
    answer = mcp_client.result("tools/call", {"name": "echo"}, revision=revision)
    later = revision >= "2025-06-18"

    assert ("title" in tool) == later
    assert ("title" in prompt) == ("title" in prompt["arguments"][0]) == later
    assert ("structuredContent" in answer) == later
    assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & {*tool, *prompt, *answer}


@requirement("rpc:batch")
def test_a_batch_of_the_oldest_revision_is_answered_as_one(mcp_client: McpClient) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "echo"}},
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": initialize_params()},
        {"jsonrpc": "2.0", "id": 4, "method": "nope"},
        7,
    ]

    for headers in ({}, {"mcp-protocol-version": OLDEST}):
        response = mcp_client.http(json.dumps(batch).encode(), headers)
        answers = json.loads(response.content)

        assert response.status_code == 200
        assert [answer.get("id") for answer in answers] == [1, "b", 3, 4, None]
        assert [answer.get("error", {}).get("code") for answer in answers] == [
            None,
            None,
            -32600,
            -32601,
            -32600,
        ]
        schemas.check(OLDEST, "JSONRPCBatchResponse", [answer for answer in answers if "id" in answer])


@requirement("rpc:batch", "rpc:notification")
def test_a_batch_of_notifications_is_accepted_without_a_body(mcp_client: McpClient) -> None:
    response = mcp_client.http(b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]')

    assert (response.status_code, response.content) == (202, b"")


@requirement("rpc:batch")
@pytest.mark.parametrize("size", [0, 51])
def test_an_empty_or_endless_batch_is_refused(mcp_client: McpClient, size: int) -> None:
    batch = [{"jsonrpc": "2.0", "id": index, "method": "ping"} for index in range(size)]

    assert mcp_client.http(json.dumps(batch).encode()).status_code == 400


@requirement("rpc:no-batch")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a_batch_is_refused_since_it_was_removed(mcp_client: McpClient, revision: str) -> None:
    response = mcp_client.http(
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', {"mcp-protocol-version": revision}
    )

    assert response.status_code == 400
    schemas.check_error(revision, json.loads(response.content))


def test_a_legacy_header_with_a_modern_body_is_a_mismatch(mcp_client: McpClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}

    answer = mcp_client.http(json.dumps(body).encode(), {"mcp-protocol-version": "2025-11-25"})

    assert json.loads(answer.content)["error"]["code"] == -32020
