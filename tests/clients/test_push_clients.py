"""The push clients that people copy, for Python and Node, against the real server and what fails on the way."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.clients.faults import FaultyProxy, faulty_proxy
from tests.ingestion.push_client import event, inbox
from tests.servers import LiveServer

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "clients" / "python" / "finops_usage.py"
Push = Callable[..., dict[str, Any]]


def stored_events() -> list[list[str]]:
    """In the server's process: customer and quantity of all events there are."""
    return [[row.customer_id, str(row.quantity.normalize())] for row in inbox()]


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("finops_usage", PYTHON)
    assert spec
    assert spec.loader
    module = sys.modules["finops_usage"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


finops_usage = _module()


def python_push(url: str, key: str, events: list[Any], **options: Any) -> dict[str, Any]:
    waits: list[float] = []
    push_options = options.pop("push_options", {})
    client = finops_usage.UsageClient(url, key, sleep=waits.append, **options)
    try:
        outcome: dict[str, Any] = {"result": dataclasses.asdict(client.push(events, **push_options))}
    except finops_usage.RejectedEvents as error:
        outcome = {"rejected": str(error), "result": dataclasses.asdict(error.result)}
    except finops_usage.PushFailed as error:
        outcome = {
            "failed": str(error),
            "status": error.status,
            "code": error.code,
            "result": dataclasses.asdict(error.result),
            "unsent": len(error.unsent),
            "idempotency_key": error.idempotency_key,
        }
    return {**outcome, "waits": waits}


def node_push(url: str, key: str, events: list[Any], **options: Any) -> dict[str, Any]:
    names = {"idempotency_key": "idempotencyKey", "raise_rejected": "throwRejected"}
    push_options = {names[name]: value for name, value in options.pop("push_options", {}).items()}
    if "timeout" in options:
        options["timeout"] *= 1000
    values = {"url": url, "key": key, "events": events, "options": options, "pushOptions": push_options}
    script = ROOT / "tests" / "clients" / "push.mjs"
    output = subprocess.run(
        ["node", script], input=json.dumps(values), capture_output=True, text=True, check=True, timeout=60
    )
    outcome: dict[str, Any] = json.loads(output.stdout)
    if "idempotencyKey" in outcome:
        outcome["idempotency_key"] = outcome.pop("idempotencyKey")
    return outcome


@pytest.fixture(params=[python_push, node_push], ids=["Python", "Node"])
def push(request: pytest.FixtureRequest) -> Push:
    client: Push = request.param
    return client


@pytest.fixture(scope="module")
def key(live_server_process: LiveServer) -> str:
    plaintext: str = live_server_process.run("tests.ingestion.test_push_killed:usage_key", "push-clients")
    return plaintext


@pytest.fixture
def proxy(live_server_process: LiveServer) -> Iterator[FaultyProxy]:
    with faulty_proxy(live_server_process.url) as server:
        yield server


def events_of(request: pytest.FixtureRequest, count: int) -> list[dict[str, Any]]:
    return [event(customer_id=f"{request.node.name} {at}", quantity=at) for at in range(count)]


def stored_of(server: LiveServer, request: pytest.FixtureRequest) -> list[list[str]]:
    rows: list[list[str]] = server.run("tests.clients.test_push_clients:stored_events")
    return [row for row in rows if row[0].startswith(f"{request.node.name} ")]


def test_events_go_in_batches_and_each_is_stored_once(
    live_server_process: LiveServer, proxy: FaultyProxy, key: str, push: Push, request: pytest.FixtureRequest
) -> None:
    outcome = push(proxy.url, key, events_of(request, 2_001))

    assert outcome["result"] == {"accepted": 2_001, "duplicates": 0, "rejected": []}
    assert outcome["waits"] == []
    assert len(set(proxy.keys)) == 3
    assert len(stored_of(live_server_process, request)) == 2_001


def test_a_batch_of_large_events_is_split_before_the_server_refuses_it(
    proxy: FaultyProxy, key: str, push: Push, request: pytest.FixtureRequest
) -> None:
    large = [{**each, "dimensions": {"text": "x" * 500_000}} for each in events_of(request, 36)]

    assert push(proxy.url, key, large)["result"]["accepted"] == 36
    assert len(proxy.sizes) == 3
    assert max(proxy.sizes) < 9 * 1024 * 1024


@pytest.mark.parametrize(
    "fault",
    ["refuse 429", "refuse 503", "refuse 500", "drop", "lose the answer", "cut the answer", "page"],
)
def test_a_batch_that_failed_in_transit_is_sent_again_under_its_key_and_counts_once(
    live_server_process: LiveServer, proxy: FaultyProxy, key: str, push: Push, fault: str, request: pytest.FixtureRequest
) -> None:  # fmt: skip
    proxy.faults = [fault, fault]

    outcome = push(proxy.url, key, events_of(request, 3))

    assert outcome["result"] == {"accepted": 3, "duplicates": 0, "rejected": []}
    assert len(proxy.keys) == 3
    assert len(set(proxy.keys)) == 1
    least = 7 if fault.startswith("refuse") else 0
    assert [
        least <= wait <= least + limit for wait, limit in zip(outcome["waits"], (0.5, 1), strict=True)
    ] == [True, True]
    assert len(stored_of(live_server_process, request)) == 3


def test_it_gives_up_after_its_attempts_and_the_rest_can_be_pushed_again(
    live_server_process: LiveServer, proxy: FaultyProxy, key: str, push: Push, request: pytest.FixtureRequest
) -> None:
    events = events_of(request, 1_500)
    # The first batch passes; the second is stored, and the client never hears of it.
    proxy.faults = ["pass", "lose the answer", "lose the answer"]

    failed = push(proxy.url, key, events, attempts=2, push_options={"idempotency_key": request.node.name})
    again = push(
        proxy.url,
        key,
        events[-failed["unsent"] :],
        push_options={"idempotency_key": failed["idempotency_key"]},
    )

    assert (failed["status"], failed["unsent"], failed["result"]["accepted"]) == (None, 500, 1_000)
    assert len(failed["waits"]) == 1
    assert again["result"]["accepted"] == 500
    assert len(stored_of(live_server_process, request)) == 1_500


def test_rejected_events_are_raised_with_their_place_after_all_others_are_stored(
    live_server_process: LiveServer, key: str, push: Push, request: pytest.FixtureRequest
) -> None:
    events = events_of(request, 1_200)
    events[3]["quantity"], events[1_100]["timestamp"] = "5", "soon"

    outcome = push(live_server_process.url, key, events)
    quiet = push(live_server_process.url, key, events[3:4], push_options={"raise_rejected": False})

    assert outcome["rejected"] == "2 events rejected, 1198 accepted; event 3: quantity must be a number"
    rejections = [(each["index"], each["error"], each["event"]) for each in outcome["result"]["rejected"]]
    assert rejections == [
        (3, "quantity must be a number", events[3]),
        (1_100, "timestamp must be a parseable date", events[1_100]),
    ]
    assert len(stored_of(live_server_process, request)) == 1_198
    assert "rejected" not in quiet
    assert [each["index"] for each in quiet["result"]["rejected"]] == [0]


def test_a_permanent_failure_is_not_retried(
    proxy: FaultyProxy, key: str, push: Push, request: pytest.FixtureRequest
) -> None:
    stranger = push(proxy.url, f"{key[:-1]}~", events_of(request, 1))
    proxy.faults = ["redirect"]
    redirected = push(proxy.url, key, events_of(request, 1))

    assert (stranger["status"], stranger["code"], stranger["unsent"]) == (401, "unauthorized", 1)
    assert stranger["failed"].startswith("401 unauthorized: Invalid usage key")
    assert redirected["status"] == 307
    assert stranger["waits"] + redirected["waits"] == []
    assert len(proxy.keys) == 2


def test_a_server_that_is_not_there_is_tried_again(key: str, push: Push) -> None:
    outcome = push("http://127.0.0.1:9", key, [event()], attempts=3)

    assert (outcome["status"], len(outcome["waits"])) == (None, 2)


def test_no_events_are_no_request(proxy: FaultyProxy, key: str, push: Push) -> None:
    assert push(proxy.url, key, [])["result"]["accepted"] == 0
    assert proxy.keys == []


def test_a_decimal_keeps_all_its_digits_in_python(
    live_server_process: LiveServer, key: str, request: pytest.FixtureRequest
) -> None:
    exact = Decimal("12345678901234567.123456789012")
    events = [{**events_of(request, 1)[0], "quantity": exact}]

    assert python_push(live_server_process.url, key, events)["result"]["accepted"] == 1
    assert [row[1] for row in stored_of(live_server_process, request)] == [str(exact)]


@pytest.mark.parametrize("wrong", [Decimal("NaN"), float("inf")])
def test_a_quantity_that_is_no_number_is_refused_before_it_is_sent_from_python(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"NaN|not JSON compliant"):
        python_push("http://127.0.0.1:9", "fuse_", [event(quantity=wrong)])
