"""The official Python SDK client against a real server process, in each of its modes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, PromptReference, TextContent

from mcpserver.registry import registry
from tests.conformance.requirements import requirement
from tests.isolation.marks import MARK
from tests.servers import LiveServer

T = TypeVar("T")
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
each_mode = pytest.mark.parametrize("mode", MODES)

pytestmark = pytest.mark.xdist_group("mcp-clients")


def run_session(url: str, key: str, mode: str, then: Callable[[Client], Awaitable[T]]) -> T:
    async def session() -> T:
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
        ):
            return await then(client)

    return asyncio.run(session())


@requirement("clients:sdk")
@each_mode
def test_it_connects_and_lists_the_tools(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def look(client: Client) -> tuple[str, list[str]]:
        tools = await client.list_tools()
        return str(client.session.protocol_version), [tool.name for tool in tools.tools]

    version, names = run_session(live_server_process.mcp_url, keys["read"], mode, look)

    assert version == MODES[mode]
    assert names == [tool.name for tool in registry.callable_by(may_write=False)]


@requirement("clients:sdk")
@each_mode
def test_it_connects_at_the_address_with_a_slash(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def list_names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert run_session(f"{live_server_process.mcp_url}/", keys["read"], mode, list_names)


@requirement("clients:sdk")
@each_mode
def test_it_calls_a_tool_and_checks_the_answer_against_its_schema(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def ask(client: Client) -> CallToolResult:
        await client.list_tools()
        return await client.call_tool("querySpend", {"period": "last_30_days", "group_by": ["service"]})

    result = run_session(live_server_process.mcp_url, keys["read"], mode, ask)

    assert not result.is_error
    assert isinstance(result.content[0], TextContent)
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.structured_content is not None
    assert result.structured_content["rows"][0]["group"] == {"service": f"{MARK} service"}
    assert result.structured_content["rows"][0]["amount"] == 217.5


@requirement("clients:sdk")
@each_mode
def test_every_read_tool_answers_it(live_server_process: LiveServer, keys: dict[str, str], mode: str) -> None:
    examples = [
        (tool.name, dict(arguments))
        for tool in registry.callable_by(may_write=False)
        for arguments in tool.examples
    ]

    async def ask(client: Client) -> list[CallToolResult]:
        await client.list_tools()
        return [await client.call_tool(name, arguments) for name, arguments in examples]

    for example, result in zip(
        examples, run_session(live_server_process.mcp_url, keys["read"], mode, ask), strict=True
    ):
        assert not result.is_error, (example, result.content)
        assert isinstance(result.content[0], TextContent)
        assert json.loads(result.content[0].text) == result.structured_content


@requirement("clients:sdk")
@each_mode
def test_it_reads_why_a_call_was_refused(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def ask(client: Client) -> CallToolResult:
        return await client.call_tool("querySpend", {"group_by": ["servise"]})

    result = run_session(live_server_process.mcp_url, keys["read"], mode, ask)

    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "'servise'" in result.content[0].text
    assert "service" in result.content[0].text


@requirement("clients:sdk")
@each_mode
def test_the_client_gets_an_error_for_an_unknown_tool(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def ask(client: Client) -> CallToolResult:
        return await client.call_tool("querySpent", {})

    with pytest.raises(ExceptionGroup) as error:
        run_session(live_server_process.mcp_url, keys["read"], mode, ask)

    assert "Unknown tool: querySpent. Nearest: querySpend" in str(_deepest(error.value))


@requirement("clients:sdk", "prompts:list", "prompts:get", "completion:complete", "completion:context")
@each_mode
def test_it_lists_gets_and_completes_prompts(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def ask(client: Client) -> tuple[list[str], list[str], list[str], list[str]]:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        texts = [str((await client.get_prompt(name)).messages[0].content) for name in names]
        digest, drivers = (
            PromptReference(type="ref/prompt", name=name)
            for name in ("weekly_cost_digest", "top_cost_drivers")
        )
        sources = await client.complete(digest, {"name": "cost_source", "value": "QUAX"})
        regions = await client.complete(drivers, {"name": "value", "value": ""}, {"filter_by": "region"})
        return names, texts, sources.completion.values, regions.completion.values

    names, texts, sources, regions = run_session(live_server_process.mcp_url, keys["read"], mode, ask)

    assert names == [prompt.name for prompt in registry.prompts()]
    assert all("console_url" in text for text in texts)
    assert (sources, regions) == ([f"{MARK} bill"], [f"{MARK} region"])


@requirement("clients:sdk", "prompts:arguments")
@each_mode
def test_it_reads_why_a_prompt_was_refused(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def ask(client: Client) -> object:
        return await client.get_prompt("weekly_cost_digest", {"basis": "bild"})

    with pytest.raises(ExceptionGroup) as error:
        run_session(live_server_process.mcp_url, keys["read"], mode, ask)

    assert "basis: 'bild' does not exist. Nearest: 'billed'." in str(_deepest(error.value))


@requirement("http:body-limit", "http:only-post", "http:credential-first")
def test_the_real_server_keeps_the_rules_of_http(
    live_server_process: LiveServer, keys: dict[str, str]
) -> None:
    url, key = live_server_process.mcp_url, {"Authorization": f"Bearer {keys['read']}"}
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    def chunks(size: int) -> Iterator[bytes]:
        yield ping
        yield from (b" " * 65_536 for _ in range(size // 65_536))

    with httpx.Client(timeout=30) as client:
        answers = [
            client.post(url, content=ping, headers=key),
            client.post(url, content=chunks(100_000), headers=key),
            client.post(url, content=chunks(4_000_000), headers=key),
            client.post(url, content=b" " * 4_000_000, headers=key),
            client.get(url, headers=key),
            client.get(url),
            client.post(f"{url}/", content=ping, headers=key),
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 413, 413, 405, 401, 200]
    assert all(answer.headers["content-type"] == "application/json" for answer in answers[:-1])
    request = Request(url, ping.ljust(3_000_000), key)  # noqa: S310 our own server
    with pytest.raises(HTTPError) as http_error:
        urlopen(request, timeout=30)  # noqa: S310 our own server
    assert (http_error.value.code, json.load(http_error.value)["id"]) == (413, 1)
    with pytest.raises(HTTPError) as error:
        urlopen(Request(url, ping), timeout=30)  # noqa: S310 our own server
    assert (error.value.code, json.load(error.value)["id"]) == (401, 1)


def _deepest(error: BaseException) -> BaseException:
    return _deepest(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
