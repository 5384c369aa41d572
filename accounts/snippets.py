"""What a person pastes to connect a client with a key. Each works as it stands."""

from __future__ import annotations

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Snippet:
    id: str
    title: str
    hint: str
    text: str


def snippets_for(url: str, key: str) -> list[Snippet]:
    """Snippets for the server at `url` and a plaintext key."""
    bearer = f"Bearer {key}"
    headers = {"Authorization": bearer}
    return [
        Snippet(
            "claude-code",
            "Claude Code",
            "Run in a terminal.",
            f'claude mcp add --transport http finops {url} --header "Authorization: {bearer}"',
        ),
        Snippet(
            "cursor",
            "Cursor",
            "In ~/.cursor/mcp.json, or .cursor/mcp.json of a project.",
            _json({"mcpServers": {"finops": {"url": url, "headers": headers}}}),
        ),
        Snippet(
            "vscode",
            "VS Code",
            "In .vscode/mcp.json, or by the command MCP: Open User Configuration.",
            _json({"servers": {"finops": {"type": "http", "url": url, "headers": headers}}}),
        ),
        Snippet("curl", "curl", "Asks the server for its tools.", _curl(url, bearer)),
    ]


def _json(value: object) -> str:
    return json.dumps(value, indent=2)


def _curl(url: str, bearer: str) -> str:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    return (
        f"curl {url} \\\n"
        f'  -H "Authorization: {bearer}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        '  -H "Accept: application/json, text/event-stream" \\\n'
        '  -H "MCP-Protocol-Version: 2025-11-25" \\\n'
        f"  -d '{body}'"
    )
