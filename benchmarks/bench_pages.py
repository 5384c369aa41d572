"""Every page and every read tool on the demo account: milliseconds in process and queries of PostgreSQL.

The list is found by itself, as for tests/query_budget.json, which counts on a small account. *anew* runs every lake
query; *again* finds the answers of a question asked before, as a second visitor of the same day does. The CPU is this
process's, DuckDB with it and PostgreSQL not. BENCH_PAGES is a regular expression of names, such as `page (overview|report)`.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from functools import partial

from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks.table import Row, timings
from finops.costs.models import CostImport, CostSource
from finops.demo import handout
from finops.demo.people import SLUG, demo_user
from ingestion.models import Customer, UsageSource
from mcpserver.registry import ToolAccess, registry
from tests.cast import signed_in
from tests.isolation.discovery import account_routes, fill
from tests.isolation.rows import MAKERS
from tests.live_settings import STORAGES

TURNS = 9
NAMES = re.compile(os.environ.get("BENCH_PAGES", ""))

Ask = Callable[[], object]

REAL = {
    "source_id": CostSource,
    "import_id": CostImport,
    "usage_source_id": UsageSource,
    "customer_pk": Customer,
}
"""Arguments of URLs for which the demo has rows; other rows are created as in tests/isolation."""


def measure() -> list[Row]:
    call_command("load_demo", verbosity=0)
    logging.getLogger("django.request").setLevel(
        logging.ERROR
    )  # pages that take no GET are tried and left out
    with override_settings(STORAGES=STORAGES, MCP_RATE_LIMIT_PER_MINUTE=100_000_000):
        return [_row(name, ask) for name, ask in (*_pages(), *_tools()) if NAMES.match(name)]


def _row(name: str, ask: Ask) -> Row:
    with override_settings(LAKE_ANSWERS_BYTES=0):
        anew = timings(TURNS, ask=ask)["ask"]
    ask()
    with CaptureQueriesContext(connection) as queries:
        ask()
    count = len(queries)  # before the next request forgets them
    again = timings(TURNS, ask=ask)["ask"]
    return {
        "page or tool": name,
        "uncached, ms": anew.clock,
        "uncached, CPU ms": anew.cpu,
        "cached, ms": again.clock,
        "cached, CPU ms": again.cpu,
        "queries": count,
    }


def _pages() -> Iterator[tuple[str, Ask]]:
    person, account = demo_user(), Account.objects.get(slug=SLUG)
    assert person is not None
    client, values = signed_in(person), _values(account)
    for route in account_routes():
        url = fill(route, SLUG, values)
        if client.get(url).status_code == 200:
            yield f"page {route.name}", partial(client.get, url)


def _values(account: Account) -> dict[str, object]:
    made_rows = {name: make(account) for name, make in MAKERS.items()}
    with account_scope(account):
        rows = {name: kind.objects.order_by("pk").first() for name, kind in REAL.items() if name in made_rows}
    return {**made_rows, **{name: row.pk for name, row in rows.items() if row is not None}}


def _tools() -> Iterator[tuple[str, Ask]]:
    """Each read tool with each of its examples."""
    key = json.loads(handout.path().read_text())["mcp_key_read"]
    for tool in registry:
        if tool.access is ToolAccess.READ:
            for number, example in enumerate(tool.examples, 1):
                body = _body(tool.name, dict(example))
                yield f"tool {tool.name}, example {number}", partial(_call, key, body)


def _body(tool: str, arguments: dict[str, object]) -> str:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def _call(key: str, body: str) -> None:
    answer = Client().post(
        "/api/mcp", body, content_type="application/json", headers={"authorization": f"Bearer {key}"}
    )
    assert answer.status_code == 200
    assert b'"isError":true' not in answer.content, answer.content[:500]
