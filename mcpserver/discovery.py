"""Public documents for clients to discover the MCP server: its Server Card (SEP-2127) and the AI Catalog (0.9), both
found from a domain, and the entry of an MCP registry. They contain where to connect, never account data."""

from __future__ import annotations

import ipaddress
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.oauth.cors import open_to_browsers
from accounts.oauth.resource import issuer, resource
from mcpserver.revisions import REVISIONS
from mcpserver.server import DESCRIPTION, NAME, TITLE, icons

CARD_TYPE: Final = "application/mcp-server-card+json"
CATALOG_TYPE: Final = "application/ai-catalog+json"
CARD_PATH: Final = "api/mcp/server-card"
REGISTRY_ENTRY_PATH: Final = "api/mcp/server.json"
_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_REGISTRY_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def card_document() -> dict[str, Any]:
    return {
        "$schema": _SCHEMA,
        **_description(),
        "remotes": [
            {
                "type": "streamable-http",
                "url": resource(),
                "supportedProtocolVersions": [revision.name for revision in REVISIONS],
            }
        ],
    }


def registry_entry() -> dict[str, Any]:
    """Return the entry that `mcp-publisher` publishes to a company's registry, or to the public one if the console is
    on the internet."""
    return {
        "$schema": _REGISTRY_SCHEMA,
        **_description(),
        "remotes": [{"type": "streamable-http", "url": resource()}],
    }


def catalog_document() -> dict[str, Any]:
    return {
        "specVersion": "0.9",
        "entries": [
            {
                "identifier": f"urn:air:{_domain()}:mcp:{NAME}",
                "displayName": TITLE,
                "type": CARD_TYPE,
                "url": f"{issuer()}/{CARD_PATH}",
            }
        ],
    }


def _description() -> dict[str, Any]:
    return {
        "name": f"{'.'.join(reversed(_domain().split('.')))}/{NAME}",
        "title": TITLE,
        "description": DESCRIPTION,
        "version": settings.VERSION,
        "websiteUrl": issuer(),
        "icons": icons(),
    }


def _domain() -> str:
    """Return the console's host name for the reverse-DNS name. An IP address has none."""
    host = urlsplit(issuer()).hostname or "localhost"
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return "localhost"


@open_to_browsers("GET")
def server_card(request: HttpRequest) -> HttpResponse:
    return _document(card_document(), CARD_TYPE)


@open_to_browsers("GET")
def server_json(request: HttpRequest) -> HttpResponse:
    return _document(registry_entry(), "application/json")


@open_to_browsers("GET")
def ai_catalog(request: HttpRequest) -> HttpResponse:
    return _document(catalog_document(), CATALOG_TYPE)


def _document(document: dict[str, Any], content_type: str) -> HttpResponse:
    return JsonResponse(
        document, content_type=content_type, headers={"Cache-Control": "public, max-age=3600"}
    )
