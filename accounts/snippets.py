"""Texts for connecting an assistant: snippets that work when pasted, and example prompts."""

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
        Snippet("curl", "curl", "Lists the server's tools.", _curl(url, bearer)),
    ]


def service_account_snippets(issuer: str, url: str, client_id: str, secret: str) -> list[Snippet]:
    """Snippets for a service account: `issuer` is the authorization server, `url` the MCP server."""
    return [
        Snippet(
            "curl-token",
            "curl",
            "Gets an access token, valid for one hour.",
            f"curl {issuer}/oauth/token \\\n"
            f"  -u '{client_id}:{secret}' \\\n"
            "  -d grant_type=client_credentials \\\n"
            f"  -d resource={url}",
        ),
        Snippet(
            "python-mcp",
            "Python, MCP SDK",
            "Pass auth to the HTTP client; storage keeps the token.",
            "from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider\n\n"
            "auth = ClientCredentialsOAuthProvider(\n"
            f'    server_url="{url}",\n'
            "    storage=storage,\n"
            f'    client_id="{client_id}",\n'
            f'    client_secret="{secret}",\n'
            f'    issuer="{issuer}",\n'
            ")",
        ),
    ]


def signed_snippets(issuer: str, url: str, client_id: str) -> list[Snippet]:
    """Snippets for a service account that signs: `issuer` is the authorization server, `url` the MCP server."""
    return [
        Snippet(
            "python-mcp",
            "Python, MCP SDK",
            "Pass auth to the HTTP client; storage keeps the token. Choose the algorithm of your key: RS256, ES256 or EdDSA.",
            "from mcp.client.auth.extensions.client_credentials import (\n"
            "    PrivateKeyJWTOAuthProvider,\n"
            "    SignedJWTParameters,\n"
            ")\n\n"
            "signer = SignedJWTParameters(\n"
            f'    issuer="{client_id}",\n'
            f'    subject="{client_id}",\n'
            '    signing_key=open("private-key.pem").read(),\n'
            '    signing_algorithm="ES256",\n'
            ")\n"
            "auth = PrivateKeyJWTOAuthProvider(\n"
            f'    server_url="{url}",\n'
            "    storage=storage,\n"
            f'    client_id="{client_id}",\n'
            "    assertion_provider=signer.create_assertion_provider(),\n"
            f'    issuer="{issuer}",\n'
            ")",
        ),
        Snippet(
            "curl-token",
            "curl",
            "Gets an access token, valid for one hour. ASSERTION is a JWT that your program signs for each request.",
            f"curl {issuer}/oauth/token \\\n"
            "  -d grant_type=client_credentials \\\n"
            "  -d client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer \\\n"
            '  -d client_assertion="$ASSERTION" \\\n'
            f"  -d resource={url}",
        ),
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


@dataclasses.dataclass(frozen=True)
class Hint:
    """Instructions for a client. `steps` are plain sentences; `text` is to be pasted."""

    id: str
    title: str
    steps: str
    text: str


def hints_for(url: str) -> list[Hint]:
    """Return how to connect by signing in, without a secret. The same words as docs/connect-an-assistant.md."""
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
            "In .vscode/mcp.json, or by the command MCP: Add Server. Start the server and sign in when prompted.",
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
            "Other clients",
            "Clients that only start local programs connect through mcp-remote.",
            f"npx mcp-remote {url}",
        ),
    ]


@dataclasses.dataclass(frozen=True)
class AssistantPrompt:
    name: str
    title: str
    text: str


ASSISTANT_PROMPTS = (
    AssistantPrompt(
        "weekly_cost_digest",
        "Weekly cost digest",
        "Weekly spend, changes from the previous week, anomalies, budgets and month-end forecast.",
    ),
    AssistantPrompt(
        "top_cost_drivers",
        "Top cost drivers this month",
        "Largest costs this month, what changed, and the month-end forecast.",
    ),
    AssistantPrompt(
        "anomaly_check",
        "Anomaly check",
        "Open anomalies by impact, with month-end impact, likely cause and data quality.",
    ),
    AssistantPrompt(
        "budget_health",
        "Budget health check",
        "Budgets over or at risk, when, why, and cost without a budget.",
    ),
    AssistantPrompt(
        "savings_review",
        "Savings review",
        "Potential monthly savings, by amount, effort and risk.",
    ),
    AssistantPrompt(
        "commitment_review",
        "Commitment review",
        "Utilization, coverage, waste and expiry of reservations and savings plans.",
    ),
)
"""The prompts of mcpserver/prompts/; a test compares them."""
