"""A program without a supervisor says to the probe of its container that it is not stuck."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from celery.worker.consumer import Consumer

from finops import heartbeat
from finops.celery import WorkerHeartbeat
from tests.waiting import wait_until

BEATING = (
    "from finops.heartbeat import HeartbeatThread; heart = HeartbeatThread('it'); heart.start(); heart.join()"
)


def test_the_file_has_the_time_of_the_last_heartbeat(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    file.touch()
    os.utime(file, (0, 0))
    environment = {**os.environ, "HEARTBEAT_FILE": str(file)}
    environment.pop(heartbeat.PIPE, None)
    program = subprocess.Popen([sys.executable, "-c", BEATING], env=environment)

    try:
        wait_until(lambda: file.stat().st_mtime > 0)
        os.utime(file, (0, 0))
        wait_until(lambda: file.stat().st_mtime > 0)
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()


def test_a_program_that_nobody_asked_to_ends_its_thread_and_a_worker_connects_again_all_the_same() -> None:
    class Connected(Consumer):  # type: ignore[misc]
        def __init__(self) -> None:
            self.called = 0

        def call_soon(self, function: object, *arguments: object) -> None:
            self.called += 1

    step = WorkerHeartbeat(Connected())
    step.start(Connected())
    step.heart.join(5)

    step.stop(Connected())
    step.start(Connected())

    assert step.heart.through is not None
