"""Writes the tools of an MCP server as langchain-mcp-adapters loads them, and LangChain converts them for OpenAI's strict mode.
Run by LangChain's Python: URL, key."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.client import MultiServerMCPClient


async def tools_of(url: str, key: str) -> list[dict[str, Any]]:
    server = {"transport": "streamable_http", "url": url, "headers": {"Authorization": f"Bearer {key}"}}
    tools = await MultiServerMCPClient({"finops": server}).get_tools()
    return [convert_to_openai_tool(tool, strict=True)["function"] for tool in tools]


json.dump(asyncio.run(tools_of(*sys.argv[1:])), sys.stdout)
