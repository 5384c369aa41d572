"""Keeps a few programs running beside each other, and stops them all together (`manage.py up`)."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import IO

from finops.lib.secrets import write_private
from finops.processes import end_group, group_alive, signal_group, started_at

STOP_SECONDS = 15.0
# A program that ends this often within the window will not heal by another start.
MAX_ENDS, WINDOW_SECONDS = 4, 60.0


class AlreadyRunning(RuntimeError):
    """Another `up` holds this checkout; `.seen` is what it wrote about itself."""

    def __init__(self, seen: Mapping[str, object]) -> None:
        super().__init__("already running")
        self.seen = seen


class KeepsEnding(RuntimeError):
    """A program ended again and again."""


@dataclass
class Program:
    """One child, in a session of its own: Ctrl-C in the terminal reaches the supervisor alone."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    # Whether it serves yet; asked after it had to be started again.
    answers: Callable[[], bool] | None = None
    silent: bool = False
    process: subprocess.Popen[bytes] | None = None
    ends: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_ENDS))
    start_after: float = 0.0

    def start(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(
            self.command, env=dict(self.environment), stdin=subprocess.DEVNULL, start_new_session=True
        )
        return self.process

    @property
    def pid(self) -> int:
        return self.process.pid if self.process is not None else 0

    def ended(self) -> int | None:
        """The exit code, once it has ended."""
        return None if self.process is None else self.process.poll()


class Ledger:
    """What runs for this checkout: locked while its supervisor lives, and read by the next one after a kill."""

    def __init__(self, var_dir: Path) -> None:
        self.path = var_dir / "up.json"
        self.lock_path = var_dir / "up.lock"
        self._lock: IO[str] | None = None

    def claim(self) -> None:
        """Hold the checkout until this process ends, however it ends; AlreadyRunning when another does."""
        lock = os.fdopen(os.open(self.lock_path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise AlreadyRunning(self.read()) from None
        self._lock = lock

    def read(self) -> dict[str, object]:
        try:
            seen = json.loads(self.path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return seen if isinstance(seen, dict) else {}

    def write(self, url: str, programs: Sequence[Program]) -> None:
        children = [{"name": p.name, "pid": p.pid, "started": started_at(p.pid)} for p in programs if p.pid]
        write_private(self.path, json.dumps({"pid": os.getpid(), "url": url, "children": children}, indent=1))

    def stop_leftovers(self) -> list[str]:
        """End the children of a supervisor that was killed; returns their names."""
        stopped = []
        children = self.read().get("children", [])
        for child in children if isinstance(children, list) else []:
            if _is_leftover(child["pid"], child["started"]):
                end_group(child["pid"], patience=STOP_SECONDS)
                stopped.append(str(child["name"]))
        return stopped

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass
class Supervisor:
    """Starts programs, starts again what ends, and stops all."""

    say: Callable[[str], None]
    changed: Callable[[], None]
    programs: list[Program] = field(default_factory=list)

    def start(self, program: Program) -> None:
        program.start()
        self.programs.append(program)
        self.changed()

    def look(self) -> None:
        """Start again what has ended, after 1, 2, 4 … seconds; KeepsEnding when that does not help."""
        for program in self.programs:
            if program.process is not None and program.ended() is not None:
                self._note_end(program)
            if program.process is None and time.monotonic() >= program.start_after:
                program.start()
                program.silent = program.answers is not None
                self.changed()
            self._hear(program)

    def _hear(self, program: Program) -> None:
        if (
            program.silent
            and program.process is not None
            and program.answers is not None
            and program.answers()
        ):
            program.silent = False
            self.say(f"The {program.name} answers again.")

    def _note_end(self, program: Program) -> None:
        now = time.monotonic()
        code = program.ended()
        program.ends.append(now)
        if len(program.ends) == MAX_ENDS and now - program.ends[0] < WINDOW_SECONDS:
            raise KeepsEnding(
                f"The {program.name} ended {MAX_ENDS} times within {WINDOW_SECONDS:.0f} s "
                f"(last with code {code}). Its messages are above."
            )
        wait = 2.0 ** (len([end for end in program.ends if now - end < WINDOW_SECONDS]) - 1)
        signal_group(program.pid, SIGKILL)
        program.process, program.start_after = None, now + wait
        self.say(f"The {program.name} ended with code {code}; starting it again in {wait:.0f} s.")

    def stop(self) -> None:
        """Ask all at once, wait, then kill what is left, with whatever it started."""
        running = [program for program in self.programs if program.process is not None]
        for program in running:
            signal_group(program.pid, SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for program in running:
            if program.process is not None:
                _wait_for(program.process, deadline)
            program.process = None
        self.programs.clear()


def _wait_for(process: subprocess.Popen[bytes], deadline: float) -> None:
    try:
        process.wait(max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        signal_group(process.pid, SIGKILL)
        process.wait()
    # What it started itself and left behind.
    signal_group(process.pid, SIGKILL)


def _is_leftover(pid: int, started: str) -> bool:
    """Whether the group still is the one that was noted. Its leader may have died before its members; a
    number stays reserved as long as it names a group, so a dead leader's group is still ours."""
    now = started_at(pid)
    return group_alive(pid) if now == "" else now == started
