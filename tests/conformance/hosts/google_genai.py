"""Writes the request that google-genai sends to Gemini with the tools of an MCP server. Run by the hosts' Python: URL, key."""

from __future__ import annotations

import asyncio
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, ClassVar

from google import genai
from google.genai import types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


class Gemini(BaseHTTPRequestHandler):
    request: ClassVar[dict[str, Any]]

    def do_POST(self) -> None:
        type(self).request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = {"role": "model", "parts": [{"text": "Done."}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode())

    def log_message(self, *_: object) -> None:
        pass


async def ask(url: str, key: str, gemini: str) -> None:
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools
        await genai.Client(
            api_key="unused", http_options=types.HttpOptions(base_url=gemini)
        ).aio.models.generate_content(
            model="gemini-2.5-flash",
            contents="Which tools are there?",
            config=types.GenerateContentConfig(tools=tools),
        )


server = HTTPServer(("127.0.0.1", 0), Gemini)
Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(ask(*sys.argv[1:], f"http://127.0.0.1:{server.server_port}"))
json.dump(Gemini.request, sys.stdout)
