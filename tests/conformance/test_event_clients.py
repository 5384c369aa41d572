"""The AI SDK of npm subscribes to events of a real server, answers its challenge, and checks what arrives."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import node
from tests.servers import LiveServer, serve

CLIENT = Path(__file__).parent / "clients" / "ai-sdk-events.mjs"
STEPS = "tests.conformance.event_steps"

pytestmark = [pytest.mark.xdist_group("mcp-clients"), pytest.mark.slow]


@pytest.fixture
def server(django_db_setup: None) -> Iterator[LiveServer]:
    with serve(ALERT_ALLOWED_NETWORKS="127.0.0.0/8") as served:
        served.run("tests.browser.people:cast")
        yield served


@pytest.fixture
def client(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        node.command(CLIENT),
        cwd=tmp_path,
        env=node.environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def line_of(client: subprocess.Popen[str]) -> dict[str, Any]:
    assert client.stdout is not None
    line: dict[str, Any] = json.loads(client.stdout.readline() or "{}")
    return line


def test_the_ai_sdk_receives_an_event_and_the_end(server: LiveServer, client: subprocess.Popen[str]) -> None:
    key = server.run(f"{STEPS}:read_key")
    assert client.stdin is not None
    request = {"url": server.mcp_url, "token": key, "event": "connection.problem"}
    client.stdin.write(f"{json.dumps(request)}\n")
    client.stdin.flush()

    subscribed = line_of(client)
    assert "anomaly.opened" in subscribed["names"]
    assert subscribed["subscribed"]["id"].startswith("sub_")
    server.run(f"{STEPS}:begin")
    server.run(f"{STEPS}:fail_source")
    event = line_of(client)["event"]
    assert event["data"]["title"] == "'Acme': source 'Linked' is failing"
    server.run(f"{STEPS}:revoke_key")
    assert line_of(client)["terminated"]["code"] == -32024
