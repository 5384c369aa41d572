"""Assistant activity: what recording a call costs the call, and what a million of them cost the page.

A call is timed with its record made in three ways, which take turns: not at all, by the writer's thread as it is, and by
one INSERT in the call itself. CPU is of this process, its threads too, and of PostgreSQL.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client, RequestFactory, override_settings

from accounts.keys import mint_mcp_key
from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks.cpu import cpu_seconds, postmaster
from benchmarks.table import Row, timings
from finops.activity import queries, services
from finops.activity.models import AssistantCall
from finops.activity.queries import ActivityQuery, ActivityReader
from finops.activity.recorder import recorder
from finops.lib import clock
from mcpserver import methods
from mcpserver.results import ToolOutcome
from mcpserver.server import make_server
from mcpserver.views import PATH, make_endpoint
from tests.cast import Cast, make_cast, signed_in
from tests.live_settings import STORAGES
from tests.mcpserver.toys import make_toys

CALLS, ROUNDS = 400, 7
ROWS = int(os.environ.get("BENCH_ACTIVITY_ROWS", "1000000"))
BODY = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":%s}}'
ARGUMENTS = (
    b'{"top":3,"group_by":["service","tag:env"],"filters":[{"dimension":"provider","values":["AWS","Azure"]}],'
    b'"start_date":"2026-01-01","grain":"month","note":"what was it"}'
)


def measure() -> list[Row]:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 100_000_000
    settings.ACTIVITY_WRITE_SECONDS = 0.5
    cast = make_cast()
    with override_settings(STORAGES=STORAGES):
        return [*_calls(cast), *_pages(cast)]


# The hot path


class _NullRecorder:
    """A recorder that records nothing."""

    def __enter__(self) -> _NullRecorder:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def outcome(self, outcome: ToolOutcome) -> ToolOutcome:
        return outcome


def _no_recorder(*_call: object) -> Any:
    return _NullRecorder()


@contextmanager
def _recording_off() -> Iterator[None]:
    original = methods._record_call
    methods._record_call = _no_recorder  # type: ignore[assignment]
    try:
        yield
    finally:
        methods._record_call = original


@contextmanager
def _by_the_writer() -> Iterator[None]:
    yield
    recorder.flush()


@contextmanager
def _by_the_call() -> Iterator[None]:
    """One INSERT per call, before its response."""
    note = recorder.note

    def at_once(call: Any) -> None:
        recorder._waiting.append(call)
        recorder.flush()

    recorder.note = at_once  # type: ignore[method-assign]
    try:
        yield
    finally:
        recorder.note = note  # type: ignore[method-assign]


WAYS: Mapping[str, Callable[[], Any]] = {
    "not recorded": _recording_off,
    "by the writer's thread, as it is": _by_the_writer,
    "by an INSERT in the call": _by_the_call,
}


def _calls(cast: Cast) -> Iterator[Row]:
    _key, key = mint_mcp_key(account=cast.account, actor=cast.actor, name="bench")
    toys = make_toys()
    toys.freeze()
    server = make_server(toys)
    endpoint, factory = make_endpoint(lambda: server), RequestFactory()
    headers = {"authorization": f"Bearer {key}", "user-agent": "bench"}
    body = BODY % ARGUMENTS

    def send() -> None:
        answer = endpoint(factory.post(PATH, body, content_type="application/json", headers=headers))
        assert answer.status_code == 200
        assert b'"isError":false' in answer.content

    turns: dict[str, list[tuple[float, float, float]]] = {name: [] for name in WAYS}
    for turn in range(ROUNDS + 1):
        for name, way in WAYS.items():
            seconds = _round(send, way)
            if turn:
                turns[name].append(seconds)
    base = [median(turn[part] for turn in turns["not recorded"]) for part in range(3)]
    for name, rounds in turns.items():
        clock_ms, cpu, database = (median(turn[part] for turn in rounds) for part in range(3))
        yield {
            "a call of a tool that does nothing": name,
            "ms until the answer": clock_ms,
            "ratio": clock_ms / base[0],
            "CPU ms, with threads": cpu,
            "CPU ratio": cpu / base[1],
            "ms of PostgreSQL's CPU": database,
        }


def _round(send: Callable[[], None], way: Callable[[], Any]) -> tuple[float, float, float]:
    """Return milliseconds per call: the median by the clock; CPU of this process and of PostgreSQL over the whole
    round."""
    server, times = postmaster(), []
    used, database = time.process_time(), cpu_seconds(server)
    with way():
        for _ in range(CALLS):
            start = time.perf_counter()
            send()
            times.append((time.perf_counter() - start) * 1_000)
    cpu, database = time.process_time() - used, cpu_seconds(server) - database
    return median(times), cpu * 1_000 / CALLS, database * 1_000 / CALLS


# The page

_FILL = """
WITH made AS (
  INSERT INTO activity_assistantcall
    (account_id, at, method, name, arguments, credential_kind, credential_id, credential_label,
     person_id, milliseconds, answer_bytes, outcome, problem, console_page)
  SELECT %(account)s, %(now)s - n * (interval '30 days' / %(rows)s), 'tool', 'tool' || n %% 30,
         '{"period":"last_7_days","group_by":["service"],"n":' || n || '}', 'mcp_key', n %% 20, 'Key ' || n %% 20,
         NULL, 5 + n %% 97, 1000 + n %% 5000, CASE WHEN n %% 50 = 0 THEN 'error' ELSE 'ok' END, '', 'cost-explorer/'
    FROM generate_series(1, %(rows)s) n
  RETURNING *
)
INSERT INTO activity_assistantcallcount
  (account_id, day, method, name, credential_kind, credential_id, outcome, bucket, credential_label, person_id,
   calls, answer_bytes)
SELECT account_id, (at AT TIME ZONE 'UTC')::date, method, name, credential_kind, credential_id, outcome,
       floor(log(2, milliseconds::numeric) * 4), max(credential_label), NULL, count(*), sum(answer_bytes)
  FROM made GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
"""


def _pages(cast: Cast) -> Iterator[Row]:
    for account in (cast.account, cast.other_account):
        _fill(account, ROWS if account == cast.account else ROWS // 100)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE activity_assistantcall")
        cursor.execute("VACUUM ANALYZE activity_assistantcallcount")
    client = signed_in(cast.owner)
    url = f"/a/{cast.account.slug}/assistant-activity/"
    with account_scope(cast.account):
        deep = queries.calls(cast.account, ActivityQuery(), ActivityReader(cast.owner.pk, True)).next_cursor
    for name, query in {
        "newest": "",
        "next page": f"?cursor={deep}",
        "one tool that erred": "?name=tool10&outcome=error",
        "one credential, oldest first": "?credential=mcp_key:7&sort=at",
        "a word in every call": "?q=last_7_days",
        "a word in no call (reads all)": "?q=nowhere",
        "slowest first (reads all)": "?sort=-milliseconds",
    }.items():
        timing = timings(5, page=lambda query=query: _get(client, url + query))["page"]  # type: ignore[misc]
        yield {
            "the page": f"{name}, of {ROWS:,} calls",
            "ms": timing.clock,
            "ms of the web process's CPU": timing.cpu,
        }
    small = f"/a/{cast.other_account.slug}/assistant-activity/"
    stranger = signed_in(cast.stranger)
    timing = timings(5, page=lambda: _get(stranger, small))["page"]
    yield {
        "the page": f"newest, of {ROWS // 100:,} calls",
        "ms": timing.clock,
        "ms of the web process's CPU": timing.cpu,
    }
    yield from _sweep(cast)


def _sweep(cast: Cast) -> Iterator[Row]:
    services.set_activity_retention(account=cast.account, actor=cast.actor, days=7)
    start = time.perf_counter()
    deleted = services.sweep()
    seconds = time.perf_counter() - start
    yield {
        "the sweep": "calls of 30 days, 7 kept",
        "calls deleted": deleted,
        "calls per second": round(deleted / seconds),
    }
    start = time.perf_counter()
    services.sweep()
    yield {"the sweep, nothing to do": "ms", "took": (time.perf_counter() - start) * 1_000}
    with account_scope(cast.account):
        assert AssistantCall.objects.exists()


def _get(client: Client, url: str) -> None:
    assert client.get(url).status_code == 200


def _fill(account: Account, rows: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"account": account.pk, "now": clock.now(), "rows": rows})
