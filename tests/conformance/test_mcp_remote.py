"""mcp-remote, which connects clients without HTTP by standard input and output, with a static header."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpserver.registry import registry
from tests.conformance import node, schemas
from tests.conformance.requirements import requirement
from tests.servers import LiveServer

ENOUGH = 60.0

pytestmark = pytest.mark.xdist_group("mcp-clients")


class Stdio:
    """A client on the near side: one JSON message a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._to, self._from = process.stdin, process.stdout

    def tell(self, **message: Any) -> None:
        self._to.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._to.flush()

    def ask(self, id_: int, method: str, **params: Any) -> dict[str, Any]:
        self.tell(id=id_, method=method, params=params)
        answer: dict[str, Any] = json.loads(self._from.readline())
        assert answer["id"] == id_
        return answer


@pytest.fixture(params=["legacy", "auto"])
def remote(
    request: pytest.FixtureRequest, live_server_process: LiveServer, keys: dict[str, str], tmp_path: Path
) -> Iterator[Stdio]:
    options = ["--allow-http", "--transport", "http-only", "--protocol", request.param]
    header = ["--header", f"Authorization: Bearer {keys['read']}"]
    command = node.command(node.MCP_REMOTE, live_server_process.mcp_url, *options, *header)
    with (
        (tmp_path / "stderr").open("w") as stderr,
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=node.environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        watch = threading.Timer(
            ENOUGH, process.kill
        )  # so that a lost answer is an error, and no waiting for ever
        watch.start()
        yield Stdio(process)
        assert process.stdin
        process.stdin.close()
        process.wait()
        watch.cancel()


@requirement("clients:mcp-remote")
def test_mcp_remote_passes_a_session_through(remote: Stdio) -> None:
    client = {"name": "tests", "version": "1"}
    hello = remote.ask(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
    remote.tell(method="notifications/initialized")
    listing = remote.ask(2, "tools/list")
    called = remote.ask(3, "tools/call", name="querySpend", arguments={"period": "last_month"})
    unknown = remote.ask(4, "tools/call", name="querySpent", arguments={})

    assert hello["result"]["serverInfo"]["name"] == "finops-console"
    names = [tool["name"] for tool in listing["result"]["tools"]]
    assert names == [tool.name for tool in registry.callable_by(may_write=False)]
    assert called["result"]["structuredContent"]["period"]["name"] == "last_month"
    assert unknown["error"]["code"] == -32602
    for method, answer in (("initialize", hello), ("tools/list", listing), ("tools/call", called)):
        schemas.check_answer("2025-11-25", method, answer)
