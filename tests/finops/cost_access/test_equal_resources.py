"""Limited cost access: resources, prompts and completions are those of an account without the other lines."""

from __future__ import annotations

import re
from urllib.parse import quote

from finops.cost_access import reach
from finops.lib.cost_access import REFUSED
from mcpserver.registry import registry
from tests.factories.cost_access import LIMIT, SECRET, Pair
from tests.factories.cost_access_settings import BOARD
from tests.finops.cost_access.comparison import assert_same_text, plain
from tests.mcpserver.mcp_client import McpClient


def test_resources_are_those_without_the_other_lines(pair: Pair) -> None:
    mcp_client, other = McpClient(pair.limited_key), McpClient(pair.inside_key)
    uris = [each["uri"] for each in other.result("resources/list")["resources"]]
    for kind, name in (("budgets", "Core budget"), ("cost-tags", "env"), ("dashboards", BOARD)):
        uris.append(f"finops://{kind}/{quote(name)}")
    for uri in uris:
        limited, expected = (
            each.result("resources/read", {"uri": uri})["contents"][0]["text"] for each in (mcp_client, other)
        )
        assert_same_text(plain(limited, pair), plain(expected, pair))
        if uri.startswith("finops://") and "glossary" not in uri:
            assert "Cost access is limited to" in limited[:200]
    problem = mcp_client.error("resources/read", {"uri": f"finops://budgets/{quote(SECRET)}%20budget"})
    assert "Valid: Core budget." in problem["message"]


def test_completions_are_those_without_the_other_lines(pair: Pair) -> None:
    mcp_client, other = McpClient(pair.limited_key), McpClient(pair.inside_key)
    templates = [
        each["uriTemplate"] for each in other.result("resources/templates/list")["resourceTemplates"]
    ]
    assert templates == [
        each["uriTemplate"] for each in mcp_client.result("resources/templates/list")["resourceTemplates"]
    ]
    questions = [
        {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": typed}}
        for uri in templates
        for name in re.findall(r"{(\w+)}", uri)
        for typed in ("", SECRET[:2])
    ]
    for prompt in registry.prompts():
        questions += [
            {
                "ref": {"type": "ref/prompt", "name": prompt.name},
                "argument": {"name": argument.name, "value": typed},
            }
            for argument in prompt.arguments
            for typed in ("", SECRET[:2])
        ]
    for question in questions:
        limited = mcp_client.result("completion/complete", question)["completion"]
        assert SECRET not in str(limited)
        if question["ref"].get("name") == "anomaly_check":
            assert limited["values"] == []
        else:
            assert limited == other.result("completion/complete", question)["completion"], question


def test_prompts_ask_nothing_that_is_refused(pair: Pair) -> None:
    mcp_client, other = McpClient(pair.limited_key), McpClient(pair.inside_key)
    for prompt in registry.prompts():
        params = {"name": prompt.name, "arguments": {}}
        if prompt.name not in reach.PROMPTS:
            assert REFUSED in mcp_client.error("prompts/get", params)["message"]
            continue
        limited, whole = (
            each.result("prompts/get", params)["messages"][0]["content"]["text"]
            for each in (mcp_client, other)
        )
        assert f"Cost access is limited to '{LIMIT}'." in limited
        steps = set(re.findall(r"^\d+\. `(\w+)`", limited, re.M))
        assert steps
        assert steps <= reach.TOOLS
        whole = whole.replace(f"/a/{pair.inside.slug}/", f"/a/{pair.whole.slug}/")
        whole_lines = {re.sub(r"^\d+\. ", "", line) for line in whole.split("\n")}
        for line in limited.split("\n"):
            assert "Cost access is limited" in line or re.sub(r"^\d+\. ", "", line) in whole_lines
