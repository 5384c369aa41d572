"""MCP Inspector's command line against a real server process, and its lint of our schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpserver.registry import registry
from tests.conformance import node
from tests.conformance.requirements import requirement
from tests.servers import LiveServer

AUTHORIZATION_REQUIRED, TOOL_ERROR = 3, 5
each_era = pytest.mark.parametrize("era", ["legacy", "auto", "modern"])

pytestmark = pytest.mark.xdist_group("mcp-clients")


class Inspector:
    def __init__(self, url: str, token: str, home: Path) -> None:
        self.url = url
        self.key = ("--header", f"Authorization: Bearer {token}")
        self.home = home

    def run(self, *arguments: str) -> node.Done:
        options = ["--cli", self.url, "--transport", "http", "--format", "json"]
        return node.run(node.INSPECTOR, *options, *arguments, home=self.home)

    def ask(self, *arguments: str) -> dict[str, Any]:
        result = self.run(*self.key, "--quiet", *arguments)
        assert result.returncode == 0, result.stderr + result.stdout
        answer: dict[str, Any] = json.loads(result.stdout)
        return answer


@pytest.fixture
def inspector(live_server_process: LiveServer, keys: dict[str, str], tmp_path: Path) -> Inspector:
    return Inspector(live_server_process.mcp_url, keys["read_write"], tmp_path)


@requirement("clients:inspector")
@each_era
def test_the_inspector_lists_the_tools(inspector: Inspector, era: str) -> None:
    listing = inspector.ask("--protocol-era", era, "--method", "tools/list")["result"]["tools"]

    assert [tool["name"] for tool in listing] == [tool.name for tool in registry]


@requirement("clients:inspector")
@each_era
def test_the_inspector_calls_a_tool_with_arguments_typed_as_text(inspector: Inspector, era: str) -> None:
    call = ["--method", "tools/call", "--tool-name", "querySpend"]
    arguments = ["--tool-arg", "period=last_month", "--tool-arg", "limit=3"]

    result = inspector.ask("--protocol-era", era, *call, *arguments)["result"]

    assert result["structuredContent"]["period"]["name"] == "last_month"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@requirement("clients:inspector")
@pytest.mark.parametrize(
    ("tool", "message"),
    [("querySpend", "'servise' does not exist. Nearest: service"), ("querySpent", "not found on server")],
)
def test_the_inspector_exits_with_an_error_for_a_refused_call(
    inspector: Inspector, tool: str, message: str
) -> None:
    arguments = ["--tool-name", tool, "--tool-args-json", '{"group_by": ["servise"]}']

    result = inspector.run(*inspector.key, "--method", "tools/call", *arguments)

    assert result.returncode == TOOL_ERROR
    assert message in result.stdout + result.stderr


@requirement("clients:inspector", "prompts:list", "prompts:get")
@each_era
def test_the_inspector_lists_and_gets_prompts(inspector: Inspector, era: str) -> None:
    options = [
        "--method",
        "prompts/get",
        "--prompt-name",
        "weekly_cost_digest",
        "--prompt-args",
        "basis=amortized",
    ]

    listing = inspector.ask("--protocol-era", era, "--method", "prompts/list")["result"]["prompts"]
    text = inspector.ask("--protocol-era", era, *options)["result"]["messages"][0]["content"]["text"]

    assert [prompt["name"] for prompt in listing] == [prompt.name for prompt in registry.prompts()]
    assert '"basis": "amortized"' in text


@requirement("clients:inspector", "tools:schemas")
def test_the_inspectors_strict_lint_finds_nothing_in_any_schema(inspector: Inspector) -> None:
    """Hosts translate schemas to dialects of their own; the lint knows what gets lost on the way."""
    answer = inspector.ask("--method", "tools/list", "--strict")

    assert answer.get("schemaFindings", []) == []


@requirement("clients:inspector")
def test_without_a_token_it_says_that_it_must_sign_in(inspector: Inspector) -> None:
    result = inspector.run("--stored-auth-only", "--method", "tools/list")

    assert result.returncode == AUTHORIZATION_REQUIRED
    assert json.loads(result.stderr.splitlines()[-1])["error"]["code"] == "auth_required"
