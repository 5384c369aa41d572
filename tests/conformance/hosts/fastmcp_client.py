"""Calls tools with FastMCP's client, and writes for each call its `data`. Run by the hosts' Python: URL, key; calls on stdin."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from pydantic_core import to_jsonable_python


async def answers(url: str, key: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {key}"})
    async with Client(transport) as client:
        tools = [tool.model_dump(mode="json", by_alias=True) for tool in await client.list_tools()]
        results = [await client.call_tool(each["name"], each["arguments"]) for each in calls]
    data = [
        {"data": to_jsonable_python(each.data), "structured_content": each.structured_content}
        for each in results
    ]
    return {"tools": tools, "results": data}


url, key = sys.argv[1:]
json.dump(asyncio.run(answers(url, key, json.load(sys.stdin))), sys.stdout)
