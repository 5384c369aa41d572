"""Hosts of MCP Apps in tests: they call the console's MCP server, and show its view in a page of chromium."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx

from tests.browser.conftest import SECONDS
from tests.servers import LiveServer

CALLS: dict[str, dict[str, Any]] = {
    "querySpend": {"period": "last_30_days", "granularity": "day", "group_by": ["service"]},
    "explainSpendChange": {"period": "last_30_days", "group_by": ["service"]},
    "forecastSpend": {"period": "month", "granularity": "day"},
    "queryUnitCost": {"usage_metric": "requests", "period": "last_6_months", "granularity": "month"},
    "listBudgets": {},
    "listAnomalies": {},
    "getDashboard": {},
}

ANOMALIES = {
    "structuredContent": json.loads(Path("tests/data/answers/listAnomalies.json").read_text())[0]["answer"],
    "content": [],
}

FOLDER = Path("tests/browser/mcp_host")


def bundle(script: str, folder: Path) -> str:
    """Bundle a script of `mcp_host/` with the packages that it imports, and return its text."""
    path = folder / script
    command = ["node_modules/.bin/esbuild", str(FOLDER / script), "--bundle", f"--outfile={path}"]
    production = '--define:process.env.NODE_ENV="production"'
    subprocess.run([*command, production, "--format=iife", "--log-level=error"], check=True)
    return path.read_text()


class McpClient:
    """A client of the console's MCP server, as a host has it."""

    def __init__(self, server: LiveServer) -> None:
        self.url = server.mcp_url
        self.key = server.run("tests.browser.people:mcp_key")
        self.calls: list[dict[str, Any]] = []
        self._ids = itertools.count(1)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self.key}",
            "MCP-Protocol-Version": "2025-11-25",
            "Accept": "application/json, text/event-stream",
        }
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answer = httpx.post(self.url, json=message, headers=headers, timeout=SECONDS).json()
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, params: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(params)
        return self.request("tools/call", params)

    def ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not answer["isError"], answer
        return answer


def client_of(console: LiveServer) -> McpClient:
    """Return a client of an account with a budget and a dashboard."""
    client = McpClient(console)
    budget = {"name": "Everything", "amount": 1000, "currency": "USD"}
    budgets = client.ask("listBudgets", {})["structuredContent"]["budgets"]
    if budget["name"] not in {each["name"] for each in budgets}:
        client.ask("create_budget", budget)
    (board, *_rest) = client.ask("listDashboards", {})["structuredContent"]["dashboards"]
    CALLS["getDashboard"] = {"dashboard_id": board["id"]}
    return client


def result_of(client: McpClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's result. For listAnomalies a recorded one, because the account of these tests has no anomaly."""
    return ANOMALIES if tool == "listAnomalies" else client.ask(tool, arguments)


def view_of(client: McpClient) -> str:
    """Return the view as hosts get it: the tools name it, and it is read as a resource."""
    tools = {tool["name"]: tool for tool in client.request("tools/list", {})["tools"]}
    uris = {tools[name]["_meta"]["ui"]["resourceUri"] for name in CALLS}
    assert len(uris) == 1
    (content,) = client.request("resources/read", {"uri": uris.pop()})["contents"]
    assert content["mimeType"] == "text/html;profile=mcp-app"
    return str(content["text"])
