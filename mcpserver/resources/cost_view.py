"""The view that hosts draw beside answers with figures (MCP Apps, SEP-1865): one HTML, built by `npm run build` from `mcp_app/`."""

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
"""Of the definition of a tool whose answers the view draws."""


def view_resource() -> McpResource | None:
    """None where the front end is not built: tools answer without a view then."""
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
    """Whether a client is told of the view. Before 2026-07-28 it says what it can once, to a server that remembers nothing:
    then it is told, and one that knows no views ignores it."""
    if not revision.modern:
        return revision.has_titles
    extensions = capabilities.get("extensions")
    ui = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    return isinstance(ui, dict) and MIME_TYPE in (ui.get("mimeTypes") or [])
