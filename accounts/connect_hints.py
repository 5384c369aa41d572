"""How a person connects a client by signing in. Each command and file works as it stands; none holds a secret."""

from __future__ import annotations

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Hint:
    """`steps` are plain sentences; `text` is what is pasted."""

    id: str
    title: str
    steps: str
    text: str


def hints_for(url: str) -> list[Hint]:
    """For the server at `url`. The same words as docs/connect-an-assistant.md."""
    return [
        Hint(
            "claude",
            "Claude",
            "Settings (or Customize) → Connectors → Add custom connector. Paste the address, then Connect. In a Team or "
            "Enterprise plan, an owner adds it first.",
            url,
        ),
        Hint(
            "chatgpt",
            "ChatGPT",
            "Settings → Apps & Connectors → Advanced: turn on developer mode. Then Create, paste the address, and "
            "choose OAuth.",
            url,
        ),
        Hint(
            "cursor",
            "Cursor",
            "In ~/.cursor/mcp.json, or .cursor/mcp.json of a project. Then Connect, under Cursor Settings → MCP.",
            _json({"mcpServers": {"finops": {"url": url}}}),
        ),
        Hint(
            "vscode",
            "VS Code",
            "In .vscode/mcp.json, or by the command MCP: Add Server. Start it, and it asks you to sign in.",
            _json({"servers": {"finops": {"type": "http", "url": url}}}),
        ),
        Hint(
            "claude-code",
            "Claude Code",
            "Run in a terminal, then type /mcp inside Claude Code and choose finops.",
            f"claude mcp add --transport http finops {url}",
        ),
        Hint(
            "other",
            "Any other client",
            "One that starts local programs alone connects through mcp-remote.",
            f"npx mcp-remote {url}",
        ),
    ]


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
