"""The most queries that each page, tool and push may make: `tests/query_budget.json`, checked in, so that growth shows in a diff.

`RECORD=1 pytest tests/test_query_budget.py` raises what is exceeded and adds what is new. The counts are for an account
with several rows of everything, so that a query a row exceeds its bound.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.keys import mint_mcp_key
from mcpserver.registry import ToolAccess, registry
from tests.cast import Cast, signed_in
from tests.finops.connections.pushes.push_steps import create_cost_client, csv_rows
from tests.ingestion.push_client import create_push_client, event
from tests.isolation.discovery import account_routes, fill
from tests.isolation.marks import fill_with_marks
from tests.isolation.rows import MAKERS

pytestmark = pytest.mark.slow

BUDGET = Path(__file__).with_name("query_budget.json")
ROWS_OF_EACH = 5
SLACK = 2
"""What a recorded bound leaves free: fewer queries than one for each row."""


def count_pages(cast: Cast) -> dict[str, int]:
    client, counts = signed_in(cast.owner), {}
    values = {name: [make(cast.account) for _ in range(ROWS_OF_EACH)][-1] for name, make in MAKERS.items()}
    for route in account_routes():
        url = fill(route, cast.account.slug, values)
        client.get(url)
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(url)
        if answer.status_code == 200:
            counts[f"page {route.name}"] = len(queries)
    return counts


def count_tools(cast: Cast) -> dict[str, int]:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="budget")
    return {
        f"tool {tool.name}": max(count_call(plaintext, tool.name, dict(example)) for example in tool.examples)
        for tool in registry
        if tool.access is ToolAccess.READ
    }


def count_pushes(cast: Cast) -> dict[str, int]:
    """Of one event by a key that is new, each beside its transaction, which is a savepoint here."""
    push_client = create_push_client(cast, name="budget")

    def count(**fields: Any) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert push_client.push(event(**fields)).json()["accepted"] == 1
        return sum("SAVEPOINT" not in str(query["sql"]) for query in queries.captured_queries)

    return {
        "push, the first": count(customer_id="new", metric="new"),
        "push, the next": count(customer_id="new", metric="new"),
        "push, a new dimension key": count(dimensions={"new": "x"}),
        "push, an event id": count(event_id="new"),
    }


def count_cost_pushes(cast: Cast) -> dict[str, int]:
    """Of a push in parts, each beside its transaction."""
    cost_client = create_cost_client(cast, name="budget of cost")

    def count(send: Callable[[], Any]) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert send().status_code < 300
        return sum("SAVEPOINT" not in str(query["sql"]) for query in queries.captured_queries)

    first = cost_client.open()
    return {
        "cost push, open": count(lambda: cost_client.send("POST", "/api/costs/pushes", {"month": "2026-05"})),
        "cost push, a part": count(lambda: cost_client.put(first, 1, csv_rows("1"))),
        "cost push, commit": count(lambda: cost_client.commit(first, 1)),
        "cost push, status": count(lambda: cost_client.send("GET", first)),
        "cost push, list": count(lambda: cost_client.send("GET", "/api/costs/pushes")),
        "cost push, one call": count(
            lambda: cost_client.send("POST", "/api/costs/months/2026-05", csv_rows("1"))
        ),
    }


def count_call(key: str, name: str, arguments: dict[str, object]) -> int:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    with CaptureQueriesContext(connection) as queries:
        Client().post(
            "/api/mcp",
            json.dumps(message),
            content_type="application/json",
            headers={"authorization": f"Bearer {key}"},
        )
    return len(queries)


@pytest.mark.xdist_group("query budget")
@pytest.mark.django_db
def test_no_page_tool_or_push_makes_more_queries_than_its_budget(cast: Cast) -> None:
    fill_with_marks(cast.account)
    budget: dict[str, int] = json.loads(BUDGET.read_text())

    counts = count_pages(cast) | count_tools(cast) | count_pushes(cast) | count_cost_pushes(cast)

    exceeded = {name: count for name, count in counts.items() if count > budget.get(name, -1)}
    if os.environ.get("RECORD"):
        bounds = {name: count + SLACK if name in exceeded else budget[name] for name, count in counts.items()}
        BUDGET.write_text(json.dumps(dict(sorted(bounds.items())), indent=2) + "\n")
        return
    assert exceeded == {}, "if it is meant: RECORD=1 raises these in tests/query_budget.json"
