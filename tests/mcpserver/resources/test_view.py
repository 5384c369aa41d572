"""The view of MCP Apps: which tools name it, to which clients."""

from __future__ import annotations

from typing import Any

import pytest

from mcpserver.registry import registry
from tests.cast import Cast
from tests.conformance import schemas
from tests.mcpserver.mcp_client import META, McpClient, mint

UI = "io.modelcontextprotocol/ui"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MIME_TYPE = "text/html;profile=mcp-app"
WITH_VIEW = sorted(tool.name for tool in registry if tool.has_view)


def tools_with_view(tools: list[dict[str, Any]]) -> list[str]:
    return [tool["name"] for tool in tools if "_meta" in tool]


def test_seven_tools_have_the_view() -> None:
    assert WITH_VIEW == [
        "explainSpendChange",
        "forecastSpend",
        "getDashboard",
        "listAnomalies",
        "listBudgets",
        "querySpend",
        "queryUnitCost",
    ]


@pytest.mark.parametrize(
    ("extensions", "names"),
    [
        ({UI: {"mimeTypes": [MIME_TYPE]}}, WITH_VIEW),
        ({UI: {"mimeTypes": ["text/plain"]}}, []),
        ({UI: {}}, []),
        ({UI: []}, []),
        ({}, []),
        ([], []),
    ],
)
def test_a_client_that_supports_apps_gets_the_view(cast: Cast, extensions: Any, names: list[str]) -> None:
    meta = {**META, CAPABILITIES: {"extensions": extensions}}

    tools = McpClient(mint(cast)).result("tools/list", {"_meta": meta})["tools"]

    assert tools_with_view(tools) == names
    for tool in tools:
        assert tool.get("_meta", {"ui": {"resourceUri": "ui://finops-console/view.html"}}) == {
            "ui": {"resourceUri": "ui://finops-console/view.html"}
        }


@pytest.mark.parametrize(
    ("revision", "names"), [("2025-11-25", WITH_VIEW), ("2025-06-18", WITH_VIEW), ("2025-03-26", [])]
)
def test_older_clients_get_meta_where_their_revision_allows_it(
    cast: Cast, revision: str, names: list[str]
) -> None:
    assert tools_with_view(McpClient(mint(cast)).result("tools/list", revision=revision)["tools"]) == names


def test_the_view_is_read_as_html_of_its_profile(cast: Cast) -> None:
    (content,) = McpClient(mint(cast)).result("resources/read", {"uri": "ui://finops-console/view.html"})[
        "contents"
    ]

    assert content["mimeType"] == MIME_TYPE
    assert content["text"].startswith("<!doctype html>")


def test_the_extension_is_offered_in_its_era(cast: Cast) -> None:
    capabilities = McpClient(mint(cast)).result("server/discover")["capabilities"]
    assert capabilities["extensions"][UI] == {}
    assert schemas.MODERN == "2026-07-28"
