"""The supervisor's rules, with small programs. `test_up.py` has the real ones."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from finops import supervisor
from finops.supervisor import Backoff, Program, Supervisor
from tests.waiting import wait_until

BEATING = (
    "from finops.heartbeat import HeartbeatThread; heart = HeartbeatThread('it'); heart.start(); heart.join()"
)


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def programs(messages: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.setattr(supervisor, "SILENT_SECONDS", 2.5)
    program_supervisor = Supervisor(say=messages.append, changed=lambda: None)
    yield program_supervisor
    program_supervisor.stop()


def program(
    name: str, code: str, *, heartbeats: tuple[str, ...] = (), environment: dict[str, str] | None = None
) -> Program:
    return Program(
        name, [sys.executable, "-c", code], {**os.environ, **(environment or {})}, heartbeats=heartbeats
    )


def poll(programs: Supervisor, condition: bool) -> bool:
    programs.check()
    return condition


def test_waits_grow_to_a_longest_and_begin_again_after_a_lasting_run() -> None:
    backoff = Backoff(longest=10.0)
    assert [backoff.wait(3.0) for _ in range(7)] == [0, 1, 2, 4, 8, 10, 10]
    assert [backoff.wait(3.0) for _ in range(5000)][-1] == 10
    assert [backoff.wait(61.0), backoff.wait(3.0)] == [0, 1]


def test_a_program_that_ends_again_and_again_ends_no_other_and_is_always_started_again(
    programs: Supervisor, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Backoff, "wait", lambda self, lasted: 0.0)
    lasting = program("lasting", BEATING)
    programs.start(lasting)
    programs.start(program("broken", "raise SystemExit(3)"))
    first = lasting.pid
    wait_until(lambda: poll(programs, len(messages) >= 8))
    assert [line for line in messages if "ended" in line and "The broken ended with code 3" not in line] == []
    assert lasting.pid == first
    assert lasting.exit_code() is None


def test_a_program_that_cannot_even_be_started_is_tried_again(
    programs: Supervisor, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    child = program("gone", "pass")
    programs.start(child)
    with monkeypatch.context() as replaced:
        replaced.setattr(sys, "executable", "/nowhere")
        wait_until(lambda: poll(programs, "cannot be started" in messages[-1] if messages else False))
    child.command = [sys.executable, "-c", "import time; time.sleep(60)"]
    wait_until(lambda: poll(programs, child.process is not None and "answers again" in messages[-1]))


@pytest.mark.slow
def test_a_program_that_is_stopped_is_stuck_and_started_again(
    programs: Supervisor, messages: list[str]
) -> None:
    child = program("web", BEATING, heartbeats=("it",))
    programs.start(child)
    first = child.pid
    wait_until(lambda: poll(programs, "it" in child.last_beats))
    os.kill(first, signal.SIGSTOP)
    wait_until(lambda: poll(programs, child.pid not in (0, first) and "it" in child.last_beats))
    assert messages == [
        "The web is stuck (no heartbeat of it); starting it again now.",
        "The web answers again.",
    ]


def test_a_supervisor_that_was_stopped_itself_blames_nobody(
    programs: Supervisor, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    child = program("web", BEATING, heartbeats=("it",))
    programs.start(child)
    wait_until(lambda: poll(programs, "it" in child.last_beats))
    os.kill(child.pid, signal.SIGSTOP)  # as all of a container that is paused
    later = time.monotonic() + 3600
    monkeypatch.setattr("finops.supervisor.time.monotonic", lambda: later)
    programs.check()
    assert messages == []
    os.kill(child.pid, signal.SIGCONT)  # so that it hears SIGTERM, which else is waited for


def test_a_program_ends_with_its_supervisor_by_the_pipe_of_its_heartbeats() -> None:
    """Where the kernel cannot end it."""
    child = program("web", BEATING)
    process = child.start()
    child.forget()
    assert process.wait(60) == -signal.SIGTERM
