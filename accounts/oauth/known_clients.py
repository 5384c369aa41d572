"""Copies of the metadata documents of the clients that most people connect, as their makers published them in 2026.

So they connect where this server reaches no outside network, and where a maker's site answers a data centre with a
challenge page. A redirect URI that is not in a copy is looked up in the live document.
"""

from __future__ import annotations

import re
from typing import Any

_CLAUDE = "https://claude.ai/oauth"
_CHATGPT = re.compile(r"https://chatgpt\.com/oauth/([A-Za-z0-9_-]{1,64})/client\.json")


def _document(name: str, *redirect_uris: str) -> dict[str, Any]:
    return {"client_name": name, "redirect_uris": list(redirect_uris), "token_endpoint_auth_method": "none"}


_COPIES: dict[str, dict[str, Any]] = {
    f"{_CLAUDE}/mcp-oauth-client-metadata": _document(
        "Claude", "https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"
    ),
    f"{_CLAUDE}/claude-code-client-metadata": _document(
        "Claude Code", "http://localhost/callback", "http://127.0.0.1/callback"
    ),
    "https://chatgpt.com/oauth/client.json": _document(
        "ChatGPT", "https://chatgpt.com/connector_platform_oauth_redirect"
    ),
    "https://chatgpt.com/oauth/codex/client.json": _document("Codex", "http://127.0.0.1/callback"),
    "https://cursor.com/oauth/mcp-client.json": _document(
        "Cursor",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "https://www.cursor.com/bot/mcp/oauth/callback",
        "http://localhost:8787/callback",
        "http://127.0.0.1:8787/callback",
        "https://grok.com/connectors-oauth-exchange-code/",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ),
    "https://vscode.dev/oauth/client-metadata.json": _document(
        "Visual Studio Code",
        "http://127.0.0.1:33418/",
        "http://localhost:33418/",
        "https://vscode.dev/redirect",
        "https://insiders.vscode.dev/redirect",
    ),
    "https://opencode.ai/oauth/opencode/client.json": _document(
        "opencode", "http://127.0.0.1/callback", "http://localhost/callback"
    ),
}


def copy_of(client_id: str) -> dict[str, Any] | None:
    """Our copy of the document at this URL, with the `client_id` it states."""
    document = _COPIES.get(client_id) or _chatgpt_connector(client_id)
    return {"client_id": client_id, **document} if document else None


def _chatgpt_connector(client_id: str) -> dict[str, Any] | None:
    """ChatGPT has a document, and a callback of the same id, for each connector."""
    match = _CHATGPT.fullmatch(client_id)
    if match is None:
        return None
    return _document("ChatGPT", f"https://chatgpt.com/connector/oauth/{match[1]}")
