"""Writes the tools of an MCP server as the OpenAI Agents SDK converts them to strict mode. Run by the hosts' Python: URL, key."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agents import Agent, FunctionTool, RunContextWrapper
from agents.mcp import MCPServerStreamableHttp


async def tools_of(url: str, key: str) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {key}"}
    async with MCPServerStreamableHttp(params={"url": url, "headers": headers}) as server:
        agent = Agent(name="test", mcp_servers=[server], mcp_config={"convert_schemas_to_strict": True})
        tools = await agent.get_mcp_tools(RunContextWrapper(context=None))
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_json_schema,
            "strict": tool.strict_json_schema,
        }
        for tool in tools
        if isinstance(tool, FunctionTool)
    ]


json.dump(asyncio.run(tools_of(*sys.argv[1:])), sys.stdout)
