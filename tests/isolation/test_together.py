"""Queries of two accounts at once, by eight threads, over HTTP, to one real server process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import httpx

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.services import create_account
from tests.isolation.marks import fill_with_marks
from tests.servers import LiveServer

THREADS = 8
ASKED = 160
DAILY = {"first": "7.25", "second": "1000.01"}
QUESTIONS = (
    {"period": "last_7_days"},
    {"period": "last_7_days", "group_by": ["service"], "granularity": "day"},
    {"period": "last_7_days", "group_by": ["tag:Quaxolotl"]},
)


def two_accounts() -> dict[str, str]:
    """In the server's process: two accounts that differ in their daily amount alone, and a key of each."""
    keys = {}
    for slug, amount in DAILY.items():
        owner = User.objects.create_user(f"{slug}@example.com", "a long enough secret")
        account = create_account(name=slug.capitalize(), owner=owner, slug=slug)
        fill_with_marks(account, Decimal(amount))
        _key, keys[slug] = mint_mcp_key(account=account, actor=Actor.of_user(owner), name="together")
    return keys


def test_eight_threads_on_two_accounts_each_get_their_own_answer(live_server_process: LiveServer) -> None:
    keys = live_server_process.run("tests.isolation.test_together:two_accounts")

    def ask(turn: int) -> tuple[str, str, float]:
        slug = ("first", "second")[turn % 2]
        answer = client.post(
            live_server_process.mcp_url,
            headers={"Authorization": f"Bearer {keys[slug]}", "MCP-Protocol-Version": "2025-11-25"},
            json={
                "jsonrpc": "2.0",
                "id": turn,
                "method": "tools/call",
                "params": {"name": "querySpend", "arguments": QUESTIONS[turn % len(QUESTIONS)]},
            },
        ).json()
        content = answer["result"]["structuredContent"]
        return slug, content["account"]["slug"], content["totals"][0]["amount"]

    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(THREADS) as threads:
        answers = list(threads.map(ask, range(ASKED)))

    assert len(answers) == ASKED
    assert {(slug, account, total) for slug, account, total in answers} == {
        (slug, slug, float(Decimal(amount) * 7)) for slug, amount in DAILY.items()
    }
