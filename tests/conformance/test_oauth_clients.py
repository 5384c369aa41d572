"""OAuth of clients that npm brings, against a real server process: the TypeScript client, mcp-remote, the suite."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance import node
from tests.conformance.person import Person, authorization_response
from tests.conformance.requirements import requirement
from tests.servers import LiveServer, free_port

READ_TOOLS = ["amounts", "broken", "echo", "picky", "slow", "sly"]
ENOUGH = 60.0

pytestmark = [pytest.mark.xdist_group("mcp-clients"), pytest.mark.slow]


@contextmanager
def running(home: Path, script: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A client that stops to ask: its output and errors are one stream of lines, and it is ended after a while."""
    process = subprocess.Popen(
        node.command(script, *arguments),
        cwd=home,
        env=node.environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watch = threading.Timer(ENOUGH, process.kill)
    watch.start()
    try:
        with process:
            yield process
            process.kill()
    finally:
        watch.cancel()


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout
    yield from process.stdout


def follow(url: str) -> None:
    """What the browser does last: it opens the client's callback."""
    assert httpx.get(url, timeout=30).status_code == 200


# The TypeScript client


def typescript(
    server: LiveServer, home: Path, answers: list[dict[str, str]], **params: Any
) -> dict[str, Any]:
    """What it says at its end; each time it asks for consent, the next of `answers` is given."""
    person, report = Person("member@example.com"), dict[str, Any]()
    with running(home, node.TYPESCRIPT.with_name("typescript-oauth.mjs")) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps({"url": server.mcp_url, "calls": [], **params}) + "\n")
        process.stdin.flush()
        for line in lines_of(process):
            assert line.startswith("{"), line + process.stdout.read()
            report = json.loads(line)
            if "authorize" not in report:
                break
            back = person.answer(report["authorize"], **answers.pop(0))
            process.stdin.write(json.dumps(back) + "\n")
            process.stdin.flush()
    assert answers == []
    return report


@requirement("clients:oauth")
@pytest.mark.parametrize(
    ("mode", "revision"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ({"pin": "2026-07-28"}, "2026-07-28")],
    ids=["legacy", "auto", "pinned"],
)
def test_the_typescript_client_connects_to_read(
    oauth_server: LiveServer, tmp_path: Path, mode: Any, revision: str
) -> None:
    report = typescript(oauth_server, tmp_path, [{}], mode=mode, calls=[{"name": "echo", "arguments": {}}])

    assert (report["revision"], report["tools"], report["scopes"]) == (revision, READ_TOOLS, ["mcp:read"])
    assert report["results"][0]["structuredContent"]["account"] == "acme"


@requirement("clients:oauth")
def test_the_typescript_client_steps_up_when_a_write_is_refused(
    oauth_server: LiveServer, tmp_path: Path
) -> None:
    rename = {"name": "rename", "arguments": {"name": "Acme"}}

    report = typescript(oauth_server, tmp_path, [{}, {"access": "read_write"}], mode="auto", calls=[rename])

    assert report["scopes"] == ["mcp:read", "mcp:read mcp:write"]
    assert report["results"][0]["structuredContent"]["summary"] == "Now it is Acme."


@requirement("clients:oauth")
def test_the_typescript_client_sees_the_tools_that_write_when_it_may(
    oauth_server: LiveServer, tmp_path: Path
) -> None:
    report = typescript(oauth_server, tmp_path, [{"access": "read_write"}], mode="auto")

    assert set(report["tools"]) == {*READ_TOOLS, "rename"}


# mcp-remote


@requirement("clients:oauth")
def test_mcp_remote_signs_in_and_lists_the_tools(oauth_server: LiveServer, tmp_path: Path) -> None:
    options = ["--allow-http", "--transport", "http-only", "--host", "127.0.0.1"]
    client = node.MCP_REMOTE.with_name("client.js")
    output = []
    with running(tmp_path, client, oauth_server.mcp_url, str(free_port()), *options) as process:
        for line in lines_of(process):
            output.append(line)
            if match := re.search(rf"{oauth_server.url}/oauth/authorize\?\S+", line):
                follow(Person("member@example.com").answer(match[0]))
            if "Exiting OK" in line:
                break

    printed = "".join(output)
    assert "Connected successfully!" in printed
    assert [name for name in READ_TOOLS if f'"name": "{name}"' not in printed] == []
    assert '"name": "rename"' not in printed


# The conformance suite's scenarios of an authorization server


@requirement("clients:oauth")
def test_the_suite_finds_a_conforming_authorization_server(oauth_server: LiveServer, tmp_path: Path) -> None:
    port = free_port()
    registered = httpx.post(
        f"{oauth_server.url}/oauth/register",
        json={"client_name": "Suite", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]},
        timeout=30,
    ).json()
    arguments = ["--url", oauth_server.url, "--client-id", registered["client_id"]]
    arguments += ["--resource", oauth_server.mcp_url, "--port", str(port), "--output-dir", str(tmp_path)]
    with running(tmp_path, node.CONFORMANCE, "authorization", *arguments) as process:
        output = []
        for line in lines_of(process):
            output.append(line)
            if match := re.search(rf"{oauth_server.url}/oauth/authorize\?\S+", line):
                back = Person("member@example.com").answer(match[0])
                assert authorization_response(back)["iss"] == oauth_server.url
                follow(back)
        assert process.wait() == 0, "".join(output)

    checks = [check for path in tmp_path.rglob("checks.json") for check in json.loads(path.read_text())]
    assert [check["status"] for check in checks] == ["SUCCESS"] * 3, "".join(output)
