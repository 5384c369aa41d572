"""The official Python SDK client against a real server process, in each of its modes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.servers import LiveServer

T = TypeVar("T")
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
each_mode = pytest.mark.parametrize("mode", MODES)


@pytest.fixture(scope="session")
def keys(live_server_process: LiveServer) -> dict[str, str]:
    made: dict[str, str] = live_server_process.run("tests.conformance.people:with_keys")
    return made


def talk(url: str, key: str, mode: str, then: Callable[[Client], Awaitable[T]]) -> T:
    async def session() -> T:
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
        ):
            return await then(client)

    return asyncio.run(session())


@each_mode
def test_it_connects_and_lists_the_tools(
    live_server_process: LiveServer, keys: dict[str, str], mode: str
) -> None:
    async def look(client: Client) -> tuple[str, list[str]]:
        tools = await client.list_tools()
        return str(client.session.protocol_version), [tool.name for tool in tools.tools]

    version, names = talk(live_server_process.mcp_url, keys["read"], mode, look)

    assert version == MODES[mode]
    assert names == sorted(names)
