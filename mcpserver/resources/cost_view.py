"""The view that hosts show beside answers with figures (MCP Apps, SEP-1865): one HTML file, built by `npm run build`
from `mcp_app/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

from finops.staticfiles import MCP_VIEW
from mcpserver.context import ToolCall
from mcpserver.resources.resource import McpResource
from mcpserver.revisions import Revision

EXTENSION: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
URI: Final = "ui://finops-console/view.html"
TOOL_META: Final = {"ui": {"resourceUri": URI}}
"""Metadata in the definition of a tool whose answers the view shows."""


def view_resource() -> McpResource | None:
    """The view; None if the front end is not built, and tools then answer without it."""
    path = settings.NODE_MODULES / MCP_VIEW
    if not path.is_file():
        return None
    html = path.read_text()

    def read(call: ToolCall) -> str:
        return html

    return McpResource(
        uri=URI,
        name="view",
        title="Chart and table",
        description="Draws answers about cost, budgets and anomalies inside the conversation.",
        mime_type=MIME_TYPE,
        read=read,
        same_for_all=True,
        size=len(html.encode()),
    )


def offers_view(revision: Revision, capabilities: Mapping[str, Any]) -> bool:
    """Whether to offer the view to a client. Before 2026-07-28 a client states its capabilities only once, to a
    server without sessions; it is then always offered, and clients that do not know views ignore it."""
    if not revision.modern:
        return revision.has_titles
    extensions = capabilities.get("extensions")
    ui = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    return isinstance(ui, dict) and MIME_TYPE in (ui.get("mimeTypes") or [])
