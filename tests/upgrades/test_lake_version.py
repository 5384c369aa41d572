"""Programs of two versions of the lake's files on one database: whoever writes waits for its turn, and nobody reads wrongly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

import httpx
import pytest

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from tests.deployment import Deployment, Web, deployment, redis_server
from tests.finops.lake.facts import line, store
from tests.servers import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("processes")]

HERE = "tests.upgrades.test_lake_version"
NEXT = {"DJANGO_SETTINGS_MODULE": "tests.upgrades.next_lake_settings"}
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def assistant_key() -> str:
    """In the server's process: an account whose bills `import_month` stores."""
    owner = User.objects.create_user("owner@example.com", "a long enough secret")
    account = create_account(name="Acme", owner=owner)
    return mint_mcp_key(account=account, actor=Actor.of_user(owner), name="Assistant")[1]


def import_month(month: str, cost: str) -> None:
    account, first_day = Account.objects.get(name="Acme"), date.fromisoformat(month)
    with account_scope(account):
        store(account, [line(first_day, cost, service="EC2")], month=first_day)


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    with redis_server() as url:
        yield url


def environment(place: Deployment, **settings: str) -> dict[str, str]:
    return {**place.web.server.environment, **settings}


def end_of_start(place: Deployment, *command: str, **settings: str) -> str:
    """What a program says that refuses to start."""
    ended = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment(place, **settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@contextmanager
def worker(place: Deployment, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "finops.worker", "--beat"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(place, **settings), stdin=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(120)


def spend(web: Web, key: str, start: str, end: str) -> dict[str, Any]:
    question = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "querySpend", "arguments": {"start_date": start, "end_date": end}},
    }
    headers = {**HEADERS, "Authorization": f"Bearer {key}"}
    answer = httpx.post(f"{web.server.url}/api/mcp", json=question, headers=headers, timeout=60)
    result: dict[str, Any] = answer.json()["result"]
    return result


def text(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def works(web: Web) -> bool:
    checks = httpx.get(f"{web.server.url}/readyz", timeout=60).json()["checks"]
    return bool(checks["worker"] == "ok")


def test_two_versions_of_the_lake_on_one_database(django_db_setup: None, redis: str) -> None:
    with deployment(REDIS_URL=redis) as place:
        old, new = place.web, place.second_web(**NEXT)
        key = place.call(f"{HERE}:assistant_key")
        place.call(f"{HERE}:import_month", "2026-01-01", "1")
        try:
            # The new web node reads beside the old one; what writes the lake's files waits, and says for what.
            new.start()
            for web in (old, new):
                assert "1.00 USD" in text(spend(web, key, "2026-01-01", "2026-02-28"))
            for program in (("-m", "finops.worker"), ("manage.py", "up", "--no-demo", "--port", "0")):
                refusal = end_of_start(place, *program, **NEXT)
                assert "An older version of the console still runs on this database, from" in refusal
                assert "1. stop workers and beat of the older version" in refusal
            old.stop()
            with worker(place, **NEXT):
                wait_until(lambda: works(new), "the worker of the new version does not work", seconds=120)
                new.server.run(f"{HERE}:import_month", "2026-02-01", "2")
                assert "3.00 USD" in text(spend(new, key, "2026-01-01", "2026-02-28"))
                paths = [path for (path,) in place.rows("SELECT path FROM lake_lakesegment ORDER BY month")]
                assert [path.endswith(".v2.parquet") for path in paths] == [False, True]

                # An old web node that starts again answers what it reads, and nothing else.
                old.start()
                assert "1.00 USD" in text(spend(old, key, "2026-01-01", "2026-01-31"))
                lake_refusal = spend(old, key, "2025-12-31", "2026-02-27")
                assert lake_refusal["isError"]
                assert "A newer version of the console wrote some of this data" in text(lake_refusal)
                refusal = end_of_start(place, "-m", "finops.worker")
                assert "Files of this lake were written by a newer version of the console" in refusal
                assert "restore a backup" in refusal
        finally:
            new.kill()
