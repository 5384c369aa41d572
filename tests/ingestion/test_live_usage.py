"""A push over HTTP counts in the tools of the same running server at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.scoping import account_scope
from accounts.services import create_account
from ingestion import services
from tests.servers import LiveServer


def account_with_both_keys() -> dict[str, str]:
    """In the server's process: a fresh account, the key of its usage source, and an MCP key."""
    owner = User.objects.create_user("live-usage@example.com", "a long enough secret")
    account = create_account(name="Live", owner=owner, slug="live-usage")
    actor = Actor.of_user(owner)
    with account_scope(account):
        source = services.create_usage_source(account=account, actor=actor, name="Backend")
        _key, usage_key = services.generate_usage_key(source=source, actor=actor)
    _mcp, mcp_key = mint_mcp_key(account=account, actor=actor, name="assistant")
    return {"usage": usage_key, "mcp": mcp_key}


def test_a_push_counts_in_the_very_next_call_without_a_restart(live_server_process: LiveServer) -> None:
    keys = live_server_process.run("tests.ingestion.test_live_usage:account_with_both_keys")
    with httpx.Client(timeout=60) as client:

        def call(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = client.post(
                live_server_process.mcp_url,
                headers={"Authorization": f"Bearer {keys['mcp']}", "MCP-Protocol-Version": "2025-11-25"},
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": tool, "arguments": arguments},
                },
            ).json()
            content: dict[str, Any] = answer["result"]["structuredContent"]
            return content

        def push(customer: str, quantity: float) -> None:
            event = {"customer_id": customer, "metric": "orders", "quantity": quantity, "unit": "order"}
            body = {"events": [{**event, "timestamp": datetime.now(UTC).isoformat()}]}
            headers = {"Authorization": f"Bearer {keys['usage']}"}
            answer = client.post(f"{live_server_process.url}/api/usage/events", headers=headers, json=body)
            assert answer.json() == {"accepted": 1, "rejected": 0, "errors": []}

        assert call("queryUsage")["quantity"] is None
        total = 0.0
        for customer, quantity in [("globex", 2), ("株", 0.5), ("globex", 1)]:
            push(customer, quantity)
            total += quantity
            answer = call("queryUsage", group_by="customer")
            assert answer["quantity"] == total
            newest = call("listUsageEvents", limit=1)["events"][0]
            assert (newest["customer_id"], newest["quantity"], newest["source"]) == (
                customer,
                quantity,
                "Backend",
            )

    assert {row["value"]: row["quantity"] for row in answer["rows"]} == {"globex": 3, "株": 0.5}
