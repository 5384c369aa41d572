"""What hosts make of the tools: the converters of AI SDK, google-genai, LangChain and OpenAI's Agents SDK over all tools of a
read/write key, and FastMCP's client. They are installed in an environment of their own (`make hosts`)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpserver.registry import registry
from tests.conformance import node
from tests.conformance.requirements import requirement
from tests.servers import LiveServer

HOSTS = node.ROOT / ".hosts"
SCRIPTS = Path(__file__).parent / "hosts"
SECONDS = 120.0

GEMINI_FORMATS = {None, "enum", "date-time"}
"""Of texts, in the `Schema` of Gemini's API."""
GEMINI_FIELDS = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "default",
        "items",
        "minItems",
        "maxItems",
        "enum",
        "properties",
        "propertyOrdering",
        "required",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
    ]
)
STRICT_FIELDS = frozenset(
    [
        "type",
        "description",
        "enum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minimum",
        "maximum",
    ]
)
"""Keywords of OpenAI's strict mode, of those that our schemas may have."""

Function = Mapping[str, Any]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("mcp-clients")]


@pytest.fixture(scope="module")
def fast_mcp(live_server_process: LiveServer, keys: dict[str, str]) -> dict[str, Any]:
    """What FastMCP's client lists, and its results of all examples that only read."""
    examples = [
        {"name": tool.name, "arguments": dict(example)}
        for tool in registry.callable_by(may_write=False)
        for example in tool.examples
    ]
    report: dict[str, Any] = run_python(
        "python", "fastmcp_client.py", live_server_process, keys, json.dumps(examples)
    )
    return {**report, "calls": examples}


@pytest.fixture(scope="module")
def listed_tools(fast_mcp: dict[str, Any]) -> dict[str, Function]:
    return {tool["name"]: tool for tool in fast_mcp["tools"]}


@pytest.fixture(scope="module")
def ai_sdk(live_server_process: LiveServer, keys: dict[str, str], tmp_path_factory: Any) -> dict[str, Any]:
    """The requests of the AI SDK's providers."""
    arguments = (str(HOSTS), live_server_process.mcp_url, keys["read_write"])
    done = node.run(SCRIPTS / "ai_sdk.mjs", *arguments, home=tmp_path_factory.mktemp("home"))
    assert done.returncode == 0, done.stderr
    requests: dict[str, Any] = json.loads(done.stdout)
    return requests


def run_python(
    environment: str, script: str, server: LiveServer, keys: Mapping[str, str], stdin: str = ""
) -> Any:
    python = HOSTS / environment / "bin" / "python"
    if not python.exists():
        raise RuntimeError("The hosts' converters are not installed: `make hosts` does it.")
    done = subprocess.run(
        [python, "-W", "ignore", SCRIPTS / script, server.mcp_url, keys["read_write"]],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@requirement("tools:hosts")
def test_gemini_gets_every_tool_through_google_genai(
    live_server_process: LiveServer, keys: dict[str, str], listed_tools: dict[str, Function]
) -> None:
    request = run_python("python", "google_genai.py", live_server_process, keys)

    functions = [each for tool in request["tools"] for each in tool["functionDeclarations"]]
    check_kept(functions, listed_tools)
    check_gemini(functions)


@requirement("tools:hosts")
def test_gemini_gets_every_tool_through_the_ai_sdk(
    ai_sdk: dict[str, Any], listed_tools: dict[str, Function]
) -> None:
    (new,), (old,) = ai_sdk["google"]["tools"], ai_sdk["google3"]["tools"]

    check_kept(new["functionDeclarations"], listed_tools, "parametersJsonSchema")
    check_kept(old["functionDeclarations"], listed_tools)
    check_gemini(old["functionDeclarations"])


@requirement("tools:hosts")
def test_openai_gets_every_tool_through_the_ai_sdk(
    ai_sdk: dict[str, Any], listed_tools: dict[str, Function]
) -> None:
    check_kept(ai_sdk["openai"]["tools"], listed_tools)


@requirement("tools:hosts")
def test_openais_strict_mode_gets_every_tool_through_its_agents_sdk(
    live_server_process: LiveServer, keys: dict[str, str], listed_tools: dict[str, Function]
) -> None:
    functions = run_python("python", "openai_agents.py", live_server_process, keys)

    assert [each["name"] for each in functions if not each["strict"]] == []
    check_kept(functions, listed_tools)
    check_strict(functions)


@requirement("tools:hosts")
def test_openais_strict_mode_gets_every_tool_through_langchain(
    live_server_process: LiveServer, keys: dict[str, str], listed_tools: dict[str, Function]
) -> None:
    functions = run_python("langchain", "langchain_tools.py", live_server_process, keys)

    check_kept(functions, listed_tools)
    check_strict(functions)


@requirement("tools:hosts")
def test_the_results_of_fastmcps_client_have_all_fields_of_the_answers(fast_mcp: dict[str, Any]) -> None:
    for call, result in zip(fast_mcp["calls"], fast_mcp["results"], strict=True):
        assert result["data"] == result["structured_content"], call
        assert set(result["data"]) >= {"account", "summary", "warnings", "hint", "console_url"}, call


def check_kept(
    functions: list[Function], listed_tools: Mapping[str, Function], parameters: str = "parameters"
) -> None:
    """No tool, argument, nested field or description is lost."""
    assert {each["name"] for each in functions} == listed_tools.keys()
    for function in functions:
        listed = listed_tools[function["name"]]
        assert function["description"] == listed["description"]
        converted = dict(_fields(function[parameters]))
        for path, schema in _fields(listed["inputSchema"]):
            assert path in converted, (function["name"], path)
            assert converted[path].get("description") == schema.get("description"), (function["name"], path)
            assert converted[path]["type"].lower() == schema["type"], (function["name"], path)
            assert converted[path].get("enum") == schema.get("enum"), (function["name"], path)


def check_gemini(functions: list[Function]) -> None:
    """Gemini refuses a request for any of these."""
    for function in functions:
        for path, schema in _fields(function["parameters"]):
            where, kind = (function["name"], path), schema["type"].lower()
            assert set(schema) <= GEMINI_FIELDS, where
            assert kind != "string" or schema.get("format") in GEMINI_FORMATS, where
            assert kind != "object" or schema.get("properties"), where
            assert kind != "array" or schema.get("items"), where
            assert "enum" not in schema or kind == "string", where
            assert set(schema.get("required", ())) <= set(schema.get("properties", ())), where


def check_strict(functions: list[Function]) -> None:
    """OpenAI's strict mode refuses a tool for any of these."""
    for function in functions:
        for path, schema in _fields(function["parameters"]):
            where = (function["name"], path)
            assert set(schema) <= STRICT_FIELDS, where
            if schema["type"] == "object":
                assert schema["additionalProperties"] is False, where
                assert schema["required"] == list(schema["properties"]), where


def _fields(schema: Function, path: str = "") -> Iterator[tuple[str, Function]]:
    """A schema and those inside it, by path."""
    yield path, schema
    for name, field in (schema.get("properties") or {}).items():
        yield from _fields(field, f"{path}.{name}")
    if schema.get("items"):
        yield from _fields(schema["items"], f"{path}[]")
