"""The official TypeScript client against a real server process, in each of its modes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpserver.registry import registry
from mcpserver.server import server
from tests.conformance import node
from tests.conformance.requirements import requirement
from tests.isolation.marks import MARK
from tests.servers import LiveServer

MODES: dict[str, tuple[Any, str]] = {
    "legacy": ("legacy", "2025-11-25"),
    "auto": ("auto", "2026-07-28"),
    "pinned": ({"pin": "2026-07-28"}, "2026-07-28"),
}
READ_TOOLS = registry.callable_by(may_write=False)
PROMPTS = registry.prompts()
PLAIN = [{"name": tool.name} for tool in READ_TOOLS if {} in tool.examples]
EXAMPLES = [
    {"name": tool.name, "arguments": dict(example)} for tool in READ_TOOLS for example in tool.examples
]

pytestmark = pytest.mark.xdist_group("mcp-clients")


def completion_of(prompt: str, argument: str, typed: str, **options: str) -> dict[str, Any]:
    return {
        "ref": {"type": "ref/prompt", "name": prompt},
        "argument": {"name": argument, "value": typed},
        "context": {"arguments": options},
    }


@pytest.fixture(scope="module", params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def report(
    mode: str,
    live_server_process: LiveServer,
    keys: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """What one client saw that connected, listed, and called everything."""
    calls = [
        {"name": "querySpend", "arguments": {"group_by": ["servise"]}},
        {"name": "querySpend", "arguments": {"period": "last_30_days", "group_by": ["service"]}},
        {"name": "querySpent", "arguments": {}},
        *PLAIN,
        *EXAMPLES,
    ]
    plan = {
        "url": live_server_process.mcp_url,
        "token": keys["read"],
        "mode": MODES[mode][0],
        "calls": calls,
        "prompts": [
            *({"name": prompt.name} for prompt in PROMPTS),
            {"name": "weekly_cost_digest", "arguments": {"cost_source": f"{MARK} bil"}},
        ],
        "completions": [
            completion_of("weekly_cost_digest", "cost_source", "quax"),
            completion_of("top_cost_drivers", "value", "", filter_by="region"),
            completion_of("weekly_cost_digest", "squad", ""),
        ],
    }
    home: Path = tmp_path_factory.mktemp("typescript")
    result = node.run(node.TYPESCRIPT, home=home, stdin=json.dumps(plan))
    assert result.returncode == 0, result.stderr
    content: dict[str, Any] = json.loads(result.stdout)
    return content


@requirement("clients:typescript")
def test_the_client_connects_with_the_revision_of_its_mode(report: dict[str, Any], mode: str) -> None:
    assert report["revision"] == MODES[mode][1]


@requirement("clients:typescript")
def test_the_client_lists_tools_prompts_and_resources(report: dict[str, Any]) -> None:
    assert [tool["name"] for tool in report["tools"]] == [tool.name for tool in READ_TOOLS]
    assert [prompt["name"] for prompt in report["prompts"]] == [prompt.name for prompt in PROMPTS]
    assert [resource["uri"] for resource in report["resources"]] == [
        resource.uri for resource in server().resources.resources
    ]


@requirement("clients:typescript", "skills:verified")
def test_the_client_reads_and_verifies_every_skill(report: dict[str, Any], mode: str) -> None:
    """Only the era of 2026-07-28 has extensions. The client checks size, digest and frontmatter of each file."""
    if mode == "legacy":
        assert report["skills"] == {"supported": False}
        return
    assert report["skills"]["invalid"] == []
    files = [file.uri for skill in server().skills for file in skill.files]
    assert report["skills"]["verified"] == files


@requirement("clients:typescript", "prompts:get", "prompts:arguments")
def test_the_client_gets_every_prompt_and_reads_why_one_was_refused(report: dict[str, Any]) -> None:
    *prompt_texts, refusal = report["texts"]

    assert [prompt["messages"][0]["role"] for prompt in prompt_texts] == ["user"] * len(PROMPTS)
    assert all("`console_url`" in prompt["messages"][0]["content"]["text"] for prompt in prompt_texts)
    assert refusal["rpcError"]["code"] == -32602
    assert f"Nearest: '{MARK} bill'." in refusal["rpcError"]["message"]


@requirement("clients:typescript", "completion:complete", "completion:context")
def test_the_client_completes_arguments(report: dict[str, Any]) -> None:
    sources, regions, refusal = report["completed"]

    assert sources["completion"] == {"values": [f"{MARK} bill"], "total": 1, "hasMore": False}
    assert regions["completion"]["values"] == [f"{MARK} region"]
    assert "has no argument squad" in refusal["rpcError"]["message"]


@requirement("clients:typescript")
def test_the_client_gets_an_error_that_says_how_to_correct_the_call(report: dict[str, Any]) -> None:
    refusal, repaired = report["results"][:2]

    assert refusal["isError"] is True
    assert "'servise'" in refusal["content"][0]["text"]
    assert "service" in refusal["content"][0]["text"].replace("servise", "")
    assert repaired["structuredContent"]["rows"][0]["group"] == {"service": f"{MARK} service"}


@requirement("clients:typescript")
def test_the_client_gets_an_error_for_an_unknown_tool(report: dict[str, Any]) -> None:
    error = report["results"][2]["rpcError"]

    assert error["code"] == -32602
    assert "Unknown tool: querySpent. Nearest: querySpend" in error["message"]


@requirement("clients:typescript")
def test_every_read_tool_answers_it(report: dict[str, Any]) -> None:
    results = report["results"][3:]

    assert len(results) == len(PLAIN) + len(EXAMPLES)
    for example, result in zip([*PLAIN, *EXAMPLES], results, strict=True):
        assert not result.get("isError", "rpcError" in result), (example, result)
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
