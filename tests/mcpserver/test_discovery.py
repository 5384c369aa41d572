"""The documents by which a client finds the server with its domain only."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from mcpserver.revisions import REVISIONS


def test_a_domain_leads_to_the_server(settings: Any) -> None:
    settings.PUBLIC_URL = "https://finops.example.com"

    catalog = Client().get("/.well-known/ai-catalog.json")
    (entry,) = catalog.json()["entries"]
    card = Client().get(entry["url"].removeprefix("https://finops.example.com"))

    assert catalog["Content-Type"] == "application/ai-catalog+json"
    assert entry["identifier"] == "urn:air:finops.example.com:mcp:finops-console"
    assert card["Content-Type"] == entry["type"] == "application/mcp-server-card+json"
    assert card.json()["name"] == "com.example.finops/finops-console"
    (remote,) = card.json()["remotes"]
    assert remote["url"] == "https://finops.example.com/api/mcp"
    assert remote["supportedProtocolVersions"] == [revision.name for revision in REVISIONS]


def test_the_catalog_is_at_the_older_address_too() -> None:
    old, new = (Client().get(f"/.well-known/{name}") for name in ("mcp/catalog.json", "ai-catalog.json"))
    assert old.json() == new.json()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost:8000"])
def test_an_address_is_no_name(settings: Any, url: str) -> None:
    settings.PUBLIC_URL = url
    assert Client().get("/api/mcp/server-card").json()["name"] == "localhost/finops-console"


@pytest.mark.parametrize(
    "path", ["/api/mcp/server-card", "/api/mcp/server.json", "/.well-known/ai-catalog.json"]
)
def test_scripts_of_any_site_read_them_and_nothing_is_written(path: str) -> None:
    assert (
        Client().get(path, headers={"origin": "https://elsewhere.example"})["Access-Control-Allow-Origin"]
        == "*"
    )
    assert Client().post(path).status_code == 405


def test_a_registry_entry_is_within_the_limits_of_registries(settings: Any) -> None:
    settings.PUBLIC_URL = "https://finops.example.com"

    entry = Client().get("/api/mcp/server.json").json()

    assert entry["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert entry["name"] == "com.example.finops/finops-console"
    assert entry["remotes"] == [{"type": "streamable-http", "url": "https://finops.example.com/api/mcp"}]
    assert 1 <= len(entry["description"]) <= 100
    assert entry["version"][0].isdigit()


def test_icons_are_files_that_anybody_reads_on_the_same_host(settings: Any) -> None:
    icons = Client().get("/api/mcp/server-card").json()["icons"]

    assert {icon["mimeType"] for icon in icons} >= {"image/png", "image/svg+xml"}
    for icon in icons:
        assert icon["src"].startswith(f"{settings.PUBLIC_URL}/static/img/")
        assert finders.find(icon["src"].partition("/static/")[2])
