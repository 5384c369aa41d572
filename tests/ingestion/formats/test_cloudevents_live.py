"""CloudEvents of the official library against the real server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from cloudevents.v1.conversion import to_binary, to_structured
from cloudevents.v1.http import CloudEvent as HttpCloudEvent

from ingestion.views.cloudevents import OPENMETER_PATH, PATH
from tests.servers import LiveServer

ATTRIBUTES = {"type": "api_requests", "source": "/gateway", "subject": "Globex, 100 %"}
DATA = {"value": 5, "region": "eu"}


@pytest.fixture(scope="module")
def key(live_server_process: LiveServer) -> str:
    plaintext: str = live_server_process.run("tests.ingestion.test_push_killed:usage_key", "cloudevents")
    return plaintext


def send(server: LiveServer, key: str, message: Any, path: str = PATH) -> httpx.Response:
    headers, body = (message.headers, message.body) if hasattr(message, "body") else message
    return httpx.post(
        server.url + path, content=body, headers={**headers, "Authorization": f"Bearer {key}"}, timeout=60
    )


def test_the_librarys_events_of_both_generations_and_modes_are_one_event(
    live_server_process: LiveServer, key: str
) -> None:
    time = datetime(2026, 11, 20, 12, tzinfo=UTC)
    required = {**ATTRIBUTES, "id": "1", "specversion": "1.0"}
    event = CloudEvent({**required, "time": time, "datacontenttype": "application/json"}, DATA)
    older = HttpCloudEvent({**required, "time": time.isoformat()}, DATA)
    messages = [to_structured_event(event), to_binary_event(event), to_structured(older), to_binary(older)]

    answers = [send(live_server_process, key, message) for message in messages]

    assert [answer.json() for answer in answers] == [{"accepted": 1, "rejected": 0, "errors": []}] * 4
    assert [answer.headers["Usage-Duplicates"] for answer in answers] == ["0", "1", "1", "1"]


def test_a_client_of_openmeter_gets_its_204_or_the_reason(live_server_process: LiveServer, key: str) -> None:
    now = datetime(2026, 11, 20, 13, tzinfo=UTC).isoformat()
    fine = HttpCloudEvent({**ATTRIBUTES, "id": "2", "time": now}, {"total_tokens": 7, "model": "m"})
    wrong = HttpCloudEvent({**ATTRIBUTES, "id": "3", "time": "soon"}, DATA)

    response = send(live_server_process, key, to_structured(fine), OPENMETER_PATH)
    refusal = send(live_server_process, key, to_structured(wrong), OPENMETER_PATH)
    stranger = send(live_server_process, "fuse_of_nobody", to_structured(fine), OPENMETER_PATH)

    assert (response.status_code, response.content) == (204, b"")
    assert refusal.status_code == 400
    assert "event 0: time must be a parseable date" in refusal.json()["detail"]
    assert (stranger.status_code, stranger.headers["Content-Type"]) == (401, "application/problem+json")
