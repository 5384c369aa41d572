"""Several web processes behind one socket: one that ends refuses no request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from django.conf import settings

from finops.processes import is_group_alive
from finops.supervisor import STOP_SECONDS, STOP_SIGNALS
from finops.web.server import answers, command, listening_socket
from tests.servers import activated, free_port
from tests.waiting import wait_until


class Web:
    """Two processes behind a socket that they are given, as systemd does it."""

    def __init__(self, folder: Path) -> None:
        self.log, self.socket = folder / "log", listening_socket("127.0.0.1", 0)
        self.socket.listen()
        self.port = self.socket.getsockname()[1]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                activated(self.socket, command(host="127.0.0.1", port=free_port(), processes=2)),
                pass_fds=[self.socket.fileno()],
                cwd=settings.BASE_DIR,
                # Health asks nothing of it.
                env={
                    **os.environ,
                    "VAR_DIR": str(folder),
                    "LOG_FORMAT": "json",
                    "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
                },
                stdout=log,
                stderr=log,
            )

    def processes(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def get(self) -> bytes:
        """By a connection of its own."""
        wire = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            wire.request("GET", "/healthz")
            return wire.getresponse().read()
        finally:
            wire.close()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    web_server = Web(tmp_path)
    try:
        wait_until(
            lambda: web_server.process.poll() is not None or answers(f"http://127.0.0.1:{web_server.port}")
        )
        yield web_server
    finally:
        web_server.process.send_signal(signal.SIGTERM)
        assert web_server.process.wait(60) == 0
        web_server.socket.close()


@pytest.mark.slow
def test_processes_that_are_killed_are_replaced_one_by_one_and_nobody_is_refused(web: Web) -> None:
    first, second = web.processes()
    os.kill(first, signal.SIGKILL)
    assert [web.get() for _ in range(20)] == [b"ok"] * 20
    wait_until(lambda: len(web.processes()) == 2 and first not in web.processes())
    assert second in web.processes()
    for pid in web.processes():
        os.kill(pid, signal.SIGKILL)
    # Nobody is there to accept: the queue of the socket holds it.
    assert web.get() == b"ok"
    lines = [json.loads(line) for line in web.log.read_text().splitlines()]
    restarts = [line for line in lines if "ended with code -9; starting it again" in line["message"]]
    assert [(line["level"], line["logger"]) for line in restarts] == [("WARNING", "finops.supervisor")] * 3


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [STOP_SIGNALS, (signal.SIGKILL,)], ids=["storm", "killed"])
def test_no_process_outlives_the_first(tmp_path: Path, numbers: tuple[signal.Signals, ...]) -> None:
    server = Web(tmp_path)
    wait_until(lambda: answers(f"http://127.0.0.1:{server.port}"))
    children = server.processes()
    assert len(children) == 2

    for number in numbers:
        server.process.send_signal(number)

    assert server.process.wait(60) == (0 if numbers is STOP_SIGNALS else -signal.SIGKILL)
    wait_until(lambda: not any(map(is_group_alive, children)), seconds=STOP_SECONDS)
    server.socket.close()


@pytest.mark.parametrize(("form", "start"), [("json", '{"timestamp"'), ("plain", "20")])
def test_lines_of_granian_have_the_form_of_all_others(form: str, start: str) -> None:
    code = (
        "from granian.log import LogLevels, configure_logging, logger; from finops.web import server; "
        "configure_logging(LogLevels.error, server.log_configuration()); logger.warning('quiet'); logger.error('loud')"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env={**os.environ, "LOG_FORMAT": form},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = process.stderr.splitlines()
    assert line.startswith(start)
    assert "loud" in line
    assert "_granian" in line
    assert process.stdout == ""
