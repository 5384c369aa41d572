"""The skills: the plugin's files, served with their digests, and calls that the tools take."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mcpserver.prompt_builder.script import FIGURES
from mcpserver.registry import registry
from mcpserver.resources.skills import Skill, read_skills
from tests.cast import Cast
from tests.conformance import schemas
from tests.mcpserver.mcp_client import McpClient, mint

PLUGIN = Path("plugins/finops-console")
SKILLS = read_skills()
NAMES = [str(skill.frontmatter["name"]) for skill in SKILLS]
BEYOND_PROMPTS = ("ai-spend-review", "commitment-purchase-plan", "cost-simulation")
WITH_STEPS = [skill for skill in SKILLS if skill.frontmatter["name"] != "how-we-count"]
OF_PROMPTS = [skill for skill in WITH_STEPS if skill.frontmatter["name"] not in BEYOND_PROMPTS]
STEP = re.compile(r"^\d+\. `(\w+)` `(\{.*\})`$", re.MULTILINE)
DAYS = {"HALF_YEAR_START": date(2025, 10, 1), "START": date(2026, 3, 1), "END": date(2026, 3, 31)}

of_prompts = pytest.mark.parametrize("skill", OF_PROMPTS, ids=lambda skill: skill.frontmatter["name"])
with_steps = pytest.mark.parametrize("skill", WITH_STEPS, ids=lambda skill: skill.frontmatter["name"])


def text_of(skill: Skill) -> str:
    return skill.files[0].content.decode()


def steps_of(skill: Skill) -> list[tuple[str, dict[str, Any]]]:
    text = text_of(skill)
    for word, day in DAYS.items():
        text = text.replace(f'"{word}"', f'"{day}"')
    return [(tool, json.loads(arguments)) for tool, arguments in STEP.findall(text)]


def test_there_are_the_six_prompts_of_the_document_and_skills_for_them_and_beyond() -> None:
    prompts = [prompt.name.replace("_", "-") for prompt in registry.prompts()]

    assert len(prompts) == 6
    assert sorted([*prompts, *BEYOND_PROMPTS, "how-we-count"]) == NAMES


def test_names_and_descriptions_keep_the_rules_of_agent_skills() -> None:
    for skill in SKILLS:
        name, description = skill.frontmatter["name"], skill.frontmatter["description"]
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert len(name) <= 64
        assert 20 <= len(description) <= 1024
        assert "Use when" in description
        assert len(text_of(skill).splitlines()) < 500


@of_prompts
def test_a_skill_calls_what_its_prompt_calls(skill: Skill, account_with_marks: Cast) -> None:
    """With the same arguments but days."""
    mcp_client = McpClient(mint(account_with_marks, "read_write"))
    name = skill.frontmatter["name"].replace("-", "_")
    (message,) = mcp_client.result("prompts/get", {"name": name})["messages"]
    prompt = message["content"]["text"]

    assert [_without_days(*step) for step in steps_of(skill)] == [
        _without_days(tool, json.loads(arguments)) for tool, arguments in STEP.findall(prompt)
    ]


@with_steps
def test_a_skill_has_the_rules_for_figures(skill: Skill) -> None:
    for figure in FIGURES:
        assert f"- {figure}\n" in text_of(skill)


def _without_days(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return tool, {name: value for name, value in arguments.items() if name not in ("start_date", "end_date")}


@with_steps
def test_every_call_of_a_skill_is_answered(skill: Skill, account_with_marks: Cast) -> None:
    mcp_client = McpClient(mint(account_with_marks))
    for tool, arguments in steps_of(skill):
        assert mcp_client.ask(tool, **arguments)["account"]


def test_entries_have_the_digest_and_size_of_what_is_read(cast: Cast) -> None:
    mcp_client = McpClient(mint(cast))
    listing = mcp_client.result("skills/list")["skills"]

    assert [entry["frontmatter"]["name"] for entry in listing] == NAMES
    for entry in listing:
        assert mcp_client.result("skills/get", {"uri": entry["uri"]})["skill"] == entry
        for file in entry["resources"]:
            (content,) = mcp_client.result("resources/read", {"uri": file["uri"]})["contents"]
            body = content["text"].encode()
            assert (f"sha256:{hashlib.sha256(body).hexdigest()}", len(body)) == (file["digest"], file["size"])


def test_a_skill_that_there_is_not_is_refused(cast: Cast) -> None:
    error = McpClient(mint(cast)).error("skills/get", {"uri": "skill://finops-console/nope/SKILL.md"})
    assert (error["code"], error["message"]) == (-32602, "Skill not found. skills/list has them all.")


def test_the_extension_is_offered_in_its_era_only(cast: Cast) -> None:
    mcp_client = McpClient(mint(cast))
    discovered = mcp_client.result("server/discover")["capabilities"]
    handshake = {
        "protocolVersion": schemas.LEGACY[0],
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }

    assert discovered["extensions"]["io.modelcontextprotocol/skills"] == {}
    assert (
        "extensions"
        not in mcp_client.result("initialize", handshake, revision=schemas.LEGACY[0])["capabilities"]
    )
    assert mcp_client.error("skills/list", revision=schemas.LEGACY[0])["code"] == -32601


def test_the_reference_of_how_we_count_is_the_document() -> None:
    copy = PLUGIN / "skills/how-we-count/references/how-we-count.md"
    assert copy.read_text() == Path("docs/how-we-count.md").read_text(), "Copy docs/how-we-count.md there."


def test_both_plugin_manifests_say_the_same_and_lead_to_what_there_is() -> None:
    claude = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    codex = json.loads((PLUGIN / ".codex-plugin/plugin.json").read_text())
    same = ("name", "version", "description")

    assert {name: claude[name] for name in same} == {name: codex[name] for name in same}
    assert (PLUGIN / codex["skills"]).is_dir()
    servers = json.loads((PLUGIN / codex["mcpServers"]).read_text())["mcpServers"]
    assert servers["finops-console"]["url"].endswith("/api/mcp")
    for marketplace in (".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"):
        (plugin,) = json.loads(Path(marketplace).read_text())["plugins"]
        source = plugin["source"]
        assert Path(source if isinstance(source, str) else source["path"]) == PLUGIN
