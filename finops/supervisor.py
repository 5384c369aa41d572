"""Keeps several independent programs running, and stops them all together (`manage.py up`).

A program that ends is restarted, at once and then after 1, 2, 4 … seconds, for ever: a program that cannot run is no reason
to end another. A stuck program is detected by missing heartbeats (finops.heartbeat) and restarted too.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM
from types import FrameType
from typing import IO, Final

from finops import heartbeat
from finops.lib.secrets import write_private
from finops.processes import end_groups, is_group_alive, signal_group, start_time, tie

LOOK_SECONDS: Final = 0.25
STOP_SECONDS = 15.0
LONGEST_WAIT_SECONDS: Final = 30.0
LASTING_SECONDS: Final = 60.0
"""A program that ran at least this long is restarted at once."""
START_SECONDS: Final = 60.0
"""Time limit for the first heartbeat after a start; doubled each time it did not suffice, up to eight times."""
SILENT_SECONDS: Final = float(os.environ.get("HEARTBEAT_SILENT_SECONDS", "15"))
"""A process without a heartbeat for this long is stuck."""
HEALTH = "answers"
SILENT_SECONDS_OF: Final = {HEALTH: 4 * SILENT_SECONDS, heartbeat.BEAT: 4 * SILENT_SECONDS}
"""Longer limits where the delay is outside of the program: clients fill the queue of /healthz, an unavailable broker delays
beat."""
PROBE_SECONDS: Final = 2.0
STOP_SIGNALS: Final = (SIGINT, SIGTERM, SIGHUP)
"""Ctrl-C, kill, and a terminal that was closed."""
SAME_SECONDS: Final = 1.0
"""Signals that arrive this soon after the first are of the same request: `make` and the terminal both send one."""
HURRIED_SECONDS: Final = 2.0
"""What is left of the time to stop after a later signal."""
AWAY_SECONDS: Final = 5.0
"""A supervisor that has not checked for this long was stopped itself, and ignores the silence of that time."""


class AlreadyRunning(RuntimeError):
    """Another `up` holds this checkout; `state` is what it wrote about itself."""

    def __init__(self, state: Mapping[str, object]) -> None:
        super().__init__("already running")
        self.state = state


class StopSignals:
    """Signals that ask this process to stop: the first decides, a later one shortens the time that programs have to stop.

    No line is interrupted by one, so that no program is ever started and not recorded, or stopped in part: loops ask with
    `check`, and long work without programs runs in `interrupting`.
    """

    def __init__(self) -> None:
        self._first_at = self._hurried_at = math.inf
        self._interrupts = False

    def install(self) -> None:
        """Handle them from now on, also where a shell started this process in the background and made it ignore Ctrl-C."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._arrive)

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._first_at == math.inf:
            self._first_at = now
            if self._interrupts:
                raise KeyboardInterrupt
        elif now - self._first_at > SAME_SECONDS:
            self._hurried_at = min(self._hurried_at, now)

    def check(self) -> None:
        """Raises KeyboardInterrupt after the first signal."""
        if self._first_at != math.inf:
            raise KeyboardInterrupt

    def pause(self, seconds: float) -> None:
        """Sleep. Raises KeyboardInterrupt after the first signal."""
        time.sleep(seconds)
        self.check()

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """The first signal raises KeyboardInterrupt inside of the block; for work that starts no program."""
        self.check()
        self._interrupts = True
        try:
            yield
        finally:
            self._interrupts = False

    def wait(self, process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait at most this long for the end of a process, less where a signal hurries; whether it has ended."""
        started_at = time.monotonic()
        while process.poll() is None:
            hurried_at = max(started_at, self._hurried_at)
            if time.monotonic() > min(started_at + seconds, hurried_at + HURRIED_SECONDS):
                return False
            time.sleep(0.02)
        return True


@dataclass
class Backoff:
    """The delay before the next start: 0, 1, 2, 4 … seconds, up to `longest`."""

    longest: float = LONGEST_WAIT_SECONDS
    starts: int = 0

    def wait(self, lasted: float) -> float:
        """Return the delay after an end; `lasted` is how long the program ran, in seconds."""
        self.starts = 1 if lasted >= LASTING_SECONDS else self.starts + 1
        return 0.0 if self.starts == 1 else min(2.0 ** min(self.starts - 2, 16), self.longest)


@dataclass
class Program:
    """One child, in a session of its own: Ctrl-C in the terminal reaches the supervisor only.

    `heartbeats` are the expected ones; others are watched after the first one arrives. HEALTH among them means that
    `answers`, which may wait, returns true.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    answers: Callable[[], bool] | None = None
    heartbeats: Sequence[str] = ()
    descriptors: Sequence[int] = ()
    silent: bool = False
    process: subprocess.Popen[bytes] | None = None
    backoff: Backoff = field(default_factory=Backoff)
    started: float = 0.0
    start_after: float = 0.0
    last_beats: dict[str, float] = field(default_factory=dict)
    _pipe: int = -1
    _rest: bytes = b""

    def start(self) -> subprocess.Popen[bytes]:
        self._close_pipe()
        self._pipe, end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self.process = subprocess.Popen(
                tie(self.command, SIGKILL),
                env={**self.environment, heartbeat.PIPE: str(end)},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(end, *self.descriptors),
            )
        finally:
            os.close(end)
        self.started, self.last_beats, self._rest = time.monotonic(), {}, b""
        if HEALTH in self.heartbeats:
            threading.Thread(target=self._probe, args=(self.process,), daemon=True).start()
        return self.process

    @property
    def pid(self) -> int:
        return self.process.pid if self.process is not None else 0

    def exit_code(self) -> int | None:
        """The exit code, once the program has ended."""
        return None if self.process is None else self.process.poll()

    def forget(self) -> None:
        """Reset the state of a program that has ended."""
        self.process = None
        self._close_pipe()

    def listen(self, now: float) -> None:
        """Read the heartbeats that have arrived."""
        if self._pipe < 0:
            return
        try:
            data = os.read(self._pipe, 1 << 16)
        except BlockingIOError:
            return
        *names, self._rest = (self._rest + data).split(b"\n")
        self.last_beats.update({name.decode(errors="replace"): now for name in names})

    def reset_silence(self, now: float) -> None:
        """Count silence from now on, because the supervisor itself was stopped."""
        self.started = max(self.started, now - SILENT_SECONDS)
        self.last_beats = dict.fromkeys(self.last_beats, now)

    def stuck(self, now: float) -> str:
        """Return the heartbeat that has been missing for too long, or an empty string."""
        for name in {*self.heartbeats, *self.last_beats}:
            last = self.last_beats.get(name)
            if last is None:
                last, limit = self.started, START_SECONDS * min(2**self.backoff.starts, 8)
            else:
                limit = SILENT_SECONDS_OF.get(name, SILENT_SECONDS)
            if now - last > limit:
                return name
        return ""

    def _probe(self, process: subprocess.Popen[bytes]) -> None:
        while self.process is process and process.returncode is None:
            if self.answers is not None and self.answers() and self.process is process:
                self.last_beats = {**self.last_beats, HEALTH: time.monotonic()}
            time.sleep(PROBE_SECONDS)

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


class Ledger:
    """The programs of this checkout: locked while their supervisor lives, and read by the next one after a kill."""

    def __init__(self, var_dir: Path) -> None:
        self.path = var_dir / "up.json"
        self.lock_path = var_dir / "up.lock"
        self._lock: IO[str] | None = None

    def claim(self) -> None:
        """Hold the checkout until this process ends, however it ends. Raises AlreadyRunning when another process holds it."""
        lock = os.fdopen(os.open(self.lock_path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise AlreadyRunning(self.read()) from None
        self._lock = lock

    def read(self) -> dict[str, object]:
        try:
            state = json.loads(self.path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return state if isinstance(state, dict) else {}

    def write(self, url: str, programs: Sequence[Program]) -> None:
        children = [{"name": p.name, "pid": p.pid, "started": start_time(p.pid)} for p in programs if p.pid]
        write_private(self.path, json.dumps({"pid": os.getpid(), "url": url, "children": children}, indent=1))

    def stop_leftovers(self) -> list[str]:
        """End the children of a killed supervisor, all at once; return their names."""
        children = self.read().get("children", [])
        recorded = children if isinstance(children, list) else []
        left = [child for child in recorded if _is_leftover(child["pid"], child["started"])]
        end_groups([child["pid"] for child in left], patience=STOP_SECONDS)
        return [str(child["name"]) for child in left]

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass
class Supervisor:
    """Starts programs, restarts those that end or are stuck, and stops all."""

    say: Callable[[str], None]
    changed: Callable[[], None]
    signals: StopSignals = field(default_factory=StopSignals)
    programs: list[Program] = field(default_factory=list)
    _checked_at: float = field(default_factory=time.monotonic)

    def start(self, program: Program) -> None:
        program.start()
        self.programs.append(program)
        self.changed()

    def check(self) -> None:
        """Check each program. Never fails because of a program, nor for a disk that is full."""
        now = time.monotonic()
        away, self._checked_at = now - self._checked_at > AWAY_SECONDS, now
        for program in self.programs:
            if program.process is not None:
                program.listen(now)
                if away:
                    program.reset_silence(now)
                self._check_program(program, now)
            if program.process is None and time.monotonic() >= program.start_after:
                self._restart(program)
            self._report_recovery(program)

    def _check_program(self, program: Program, now: float) -> None:
        code = program.exit_code()
        if code is None:
            heart = program.stuck(now)
            if not heart:
                return
            why = f"is stuck (no heartbeat of {heart})"
        else:
            why = f"ended with code {code}"
        signal_group(program.pid, SIGKILL)
        if program.process is not None:
            program.process.wait()
        program.forget()
        wait = program.backoff.wait(now - program.started)
        program.start_after = now + wait
        self.say(f"The {program.name} {why}; starting it again {f'in {wait:.0f} s' if wait else 'now'}.")

    def _restart(self, program: Program) -> None:
        try:
            program.start()
        except OSError as error:
            wait = program.backoff.wait(0.0)
            program.start_after = time.monotonic() + wait
            self.say(f"The {program.name} cannot be started ({error}); trying again in {wait:.0f} s.")
            return
        program.silent = True
        self.changed()

    def _report_recovery(self, program: Program) -> None:
        if program.silent and all(heart in program.last_beats for heart in program.heartbeats):
            program.silent = False
            self.say(f"The {program.name} answers again.")

    def stop(self) -> None:
        """Stop all programs at once, wait, then kill the remaining ones, with their children."""
        running = [program for program in self.programs if program.process is not None]
        for program in running:
            signal_group(program.pid, SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for program in running:
            if program.process is not None:
                self.signals.wait(program.process, deadline - time.monotonic())
                # With what it started itself and left behind.
                signal_group(program.pid, SIGKILL)
                program.process.wait()
            program.forget()
        self.programs.clear()


def _is_leftover(pid: int, started: str) -> bool:
    """Whether the group is still the recorded one. Its leader may have died before its members; an id stays reserved as
    long as a group has it, so a dead leader's group is still ours."""
    now = start_time(pid)
    return is_group_alive(pid) if now == "" else now == started
