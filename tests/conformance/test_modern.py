"""Revision 2026-07-28: each request says its revision, in the body and in headers."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from accounts.oauth.metadata import MCP_EXTENSIONS
from tests.conformance import schemas
from tests.conformance.requirements import requirement
from tests.mcpserver.mcp_client import META, McpClient

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def send(
    mcp_client: McpClient, method: str, params: dict[str, Any], headers: dict[str, str]
) -> tuple[int, dict[str, Any]]:
    message = {"jsonrpc": "2.0", "id": "a-1", "method": method, "params": params}
    response = mcp_client.http(json.dumps(message).encode(), headers)
    answer = json.loads(response.content)
    schemas.check_answer(schemas.MODERN, method, answer)
    assert answer["id"] == "a-1"
    return response.status_code, answer


def error_of(
    mcp_client: McpClient, method: str, params: dict[str, Any], headers: dict[str, str]
) -> tuple[int, int]:
    status, answer = send(mcp_client, method, params, headers)
    return status, answer["error"]["code"]


def headers(method: str, version: str = schemas.MODERN, **more: str) -> dict[str, str]:
    return {"mcp-protocol-version": version, "mcp-method": method, **more}


def meta_without(key: str) -> dict[str, Any]:
    return {name: value for name, value in META.items() if name != key}


@requirement("modern:meta")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"_meta": None},
        {"_meta": []},
        {"_meta": {}},
        {"_meta": meta_without(VERSION)},
        {"_meta": meta_without(CAPABILITIES)},
        {"_meta": {**META, CAPABILITIES: None}},
        {"_meta": {**META, CAPABILITIES: []}},
        {"_meta": {**META, VERSION: 7}},
    ],
)
def test_the_meta_of_a_request_is_required(mcp_client: McpClient, params: dict[str, Any]) -> None:
    assert error_of(mcp_client, "tools/list", params, headers("tools/list")) == (400, -32602)


@requirement("modern:client-info", "modern:extra-params")
def test_client_info_may_be_missing_and_unknown_params_are_ignored(mcp_client: McpClient) -> None:
    meta = {VERSION: schemas.MODERN, CAPABILITIES: {"made": "up"}, "progressToken": 1, "x/y": [1]}
    params = {"_meta": meta, "requestState": "s", "inputResponses": {}, "name": "echo"}

    status, answer = send(mcp_client, "tools/call", params, headers("tools/call", **{"mcp-name": "echo"}))

    assert (status, answer["result"]["isError"]) == (200, False)


@requirement("modern:version-header")
@pytest.mark.parametrize("version", [None, "2025-11-25", "v999", ""])
def test_the_version_header_equals_the_bodys(mcp_client: McpClient, version: str | None) -> None:
    sent_headers = headers("tools/list", version or "")
    if version is None:
        del sent_headers["mcp-protocol-version"]

    assert error_of(mcp_client, "tools/list", {"_meta": META}, sent_headers) == (400, -32020)


@requirement("modern:version-header", "modern:unsupported-version")
def test_a_mismatch_is_seen_before_an_unsupported_version(mcp_client: McpClient) -> None:
    unknown = {"_meta": {**META, VERSION: "v999"}}

    assert error_of(mcp_client, "tools/list", unknown, headers("tools/list")) == (400, -32020)
    assert error_of(mcp_client, "tools/list", unknown, headers("tools/call", "v999")) == (400, -32020)


@requirement("modern:unsupported-version", "rpc:id-echo")
def test_an_unsupported_version_gets_the_supported_ones(mcp_client: McpClient) -> None:
    unknown = {"_meta": {**META, VERSION: "v999"}}

    status, answer = send(mcp_client, "tools/list", unknown, headers("tools/list", "v999"))

    assert (status, answer["error"]["code"]) == (400, -32022)
    assert answer["error"]["data"] == {"supported": [schemas.MODERN], "requested": "v999"}
    discovered = mcp_client.result("server/discover")["supportedVersions"]
    assert set(answer["error"]["data"]["supported"]) <= set(discovered)


@requirement("modern:method-header")
@pytest.mark.parametrize("header", [None, "tools/call", "TOOLS/LIST", ""])
def test_the_method_header_equals_the_method(mcp_client: McpClient, header: str | None) -> None:
    sent = {"mcp-protocol-version": schemas.MODERN} | ({} if header is None else {"mcp-method": header})

    assert error_of(mcp_client, "tools/list", {"_meta": META}, sent) == (400, -32020)


@requirement("modern:name-header")
@pytest.mark.parametrize(
    ("method", "field", "value"),
    [("tools/call", "name", "echo"), ("prompts/get", "name", "weekly"), ("resources/read", "uri", "x:y")],
)
@pytest.mark.parametrize("header", [None, "other", "ECHO", "echo,echo"])
def test_the_name_header_equals_the_name(
    mcp_client: McpClient, method: str, field: str, value: str, header: str | None
) -> None:
    sent = headers(method) | ({} if header is None else {"mcp-name": header})

    assert error_of(mcp_client, method, {"_meta": META, field: value}, sent) == (400, -32020)


@requirement("modern:name-header", "modern:method-header")
def test_edge_whitespace_of_headers_does_not_count(mcp_client: McpClient) -> None:
    sent = {
        "mcp-protocol-version": f" {schemas.MODERN}",
        "mcp-method": "tools/call ",
        "mcp-name": "\t echo  ",
    }

    assert send(mcp_client, "tools/call", {"_meta": META, "name": "echo"}, sent)[0] == 200


@requirement("modern:name-base64")
def test_a_name_may_come_wrapped_in_base64(mcp_client: McpClient) -> None:
    wrapped = f"=?base64?{base64.b64encode(b'echo').decode()}?="

    status, answer = send(
        mcp_client,
        "tools/call",
        {"_meta": META, "name": "echo"},
        headers("tools/call", **{"mcp-name": wrapped}),
    )

    assert (status, answer["result"]["isError"]) == (200, False)


@requirement("modern:name-base64")
@pytest.mark.parametrize(
    "wrapped", ["=?base64?!?=", "=?base64?ZWNobw?=", "=?base64?/w==?=", "=?BASE64?ZWNobw==?="]
)
def test_a_broken_wrapping_is_a_mismatch(mcp_client: McpClient, wrapped: str) -> None:
    sent_headers = headers("tools/call", **{"mcp-name": wrapped})

    assert error_of(mcp_client, "tools/call", {"_meta": META, "name": "echo"}, sent_headers) == (400, -32020)


@requirement("modern:unknown-method")
@pytest.mark.parametrize(
    "method",
    [
        "unknown/method",
        "",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
        "tasks/get",
    ],
)
def test_an_unknown_or_removed_method_is_not_found(mcp_client: McpClient, method: str) -> None:
    assert error_of(mcp_client, method, {"_meta": META}, headers(method)) == (404, -32601)


@requirement("modern:initialize")
def test_initialize_that_claims_the_modern_era_is_not_found(mcp_client: McpClient) -> None:
    params = {"_meta": META, "protocolVersion": "2025-11-25", "capabilities": {}}

    assert error_of(mcp_client, "initialize", params, headers("initialize")) == (404, -32601)


@requirement("modern:discover", "methods:capabilities", "methods:instructions", "modern:caching")
def test_discover_says_who_we_are(mcp_client: McpClient, bare: McpClient) -> None:
    result = mcp_client.result("server/discover")

    assert result["supportedVersions"] == ["2026-07-28"]
    lists: dict[str, dict[str, str]] = {name: {} for name in ("tools", "prompts", "resources", "completions")}
    assert result["capabilities"] == {**lists, "extensions": {name: {} for name in MCP_EXTENSIONS}}
    assert "getAccountContext" in result["instructions"]
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
    assert bare.result("server/discover")["capabilities"] == result["capabilities"]


@requirement("modern:result-type", "modern:caching")
@pytest.mark.parametrize(
    ("method", "params", "cached"),
    [
        ("server/discover", {}, "public"),
        ("tools/list", {}, "private"),
        ("prompts/list", {}, "private"),
        ("resources/list", {}, "private"),
        ("resources/templates/list", {}, "private"),
        ("tools/call", {"name": "echo"}, None),
        ("prompts/get", {"name": "weekly", "arguments": {"team": "Core"}}, None),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "weekly"}, "argument": {"name": "team", "value": ""}},
            None,
        ),
    ],
)
def test_a_result_says_its_kind_who_answered_and_how_long_it_keeps(
    mcp_client: McpClient, method: str, params: dict[str, Any], cached: str | None
) -> None:
    result = mcp_client.result(method, params)

    assert result["resultType"] == "complete"
    info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert {"name", "version", "title", "description", "websiteUrl"} == set(info) - {"icons"}
    assert ("icons" in info) == (method == "server/discover")
    assert result.get("cacheScope") == cached
    assert ("ttlMs" in result) == (cached is not None)


@requirement("rpc:no-batch")
def test_a_batch_is_refused(mcp_client: McpClient) -> None:
    response = mcp_client.http(
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', {"mcp-protocol-version": schemas.MODERN}
    )

    assert response.status_code == 400
    assert json.loads(response.content)["error"]["code"] == -32600


@requirement("rpc:notification")
@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/made-up", "tools/call"])
@pytest.mark.parametrize("version", [None, *schemas.REVISIONS])
def test_a_notification_is_accepted_without_a_body(
    mcp_client: McpClient, method: str, version: str | None
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": method}).encode()

    response = mcp_client.http(body, {"mcp-protocol-version": version} if version else {})

    assert (response.status_code, response.content) == (202, b"")
    assert "Content-Type" not in response


@requirement("rpc:response")
def test_a_client_sends_no_responses(mcp_client: McpClient) -> None:
    response = mcp_client.http(
        b'{"jsonrpc":"2.0","id":1,"result":{}}', {"mcp-protocol-version": schemas.MODERN}
    )

    assert response.status_code == 400
    assert json.loads(response.content)["error"]["code"] == -32600


@requirement("rpc:parse-error", "rpc:invalid-request", "rpc:id-omitted")
@pytest.mark.parametrize(("body", "code"), [(b"{", -32700), (b"7", -32600), (b'{"id":null}', -32600)])
@pytest.mark.parametrize("version", [None, *schemas.REVISIONS])
def test_an_invalid_message_is_refused_without_an_id(
    mcp_client: McpClient, body: bytes, code: int, version: str | None
) -> None:
    response = mcp_client.http(body, {"mcp-protocol-version": version} if version else {})

    answer = json.loads(response.content)
    assert (response.status_code, answer["error"]["code"]) == (400, code)
    assert "id" not in answer
    schemas.check_error(version or schemas.LEGACY[-1], answer)
