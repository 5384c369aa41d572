"""`manage.py up` with small programs, in forks of one process: signals arrive at a line of its code, or it is killed there.

PostgreSQL, Redis, the ledger and all that starts and stops are real; web server and workers are programs that sleep.
Reads requests as lines of JSON and answers each with one (`main`); tests/finops/test_stop.py asks.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import django
from django.conf import settings

STORM = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONGEST_SECONDS = 60.0
Line = tuple[str, int]


def _sources() -> tuple[str, ...]:
    from finops import processes, supervisor
    from finops.embedded import cluster, redis_server, watch
    from finops.management.commands import up

    return tuple(str(module.__file__) for module in (up, supervisor, processes, cluster, redis_server, watch))


class Lines:
    """Calls `at` before each line of the sources, but those of the handler itself."""

    def __init__(self, at: Callable[[Line], None]) -> None:
        self._at, self._sources = at, _sources()

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self._sources or frame.f_code.co_name in ("_arrive", "_interrupt"):
            return None
        if event == "line":
            self._at((frame.f_code.co_filename, frame.f_lineno))
        return self.trace


def _storm() -> None:
    """Three signals at once to this process and its group, as from a terminal, make and a service manager together."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STORM)
    for number in STORM:
        os.killpg(0, number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STORM)


def _run(port: int) -> None:
    """The command with its own start and stop, and small programs for what is dear."""
    from finops.management.commands import up
    from finops.supervisor import Program

    marker = str(settings.VAR_DIR)
    sleeper = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", marker]
    settings.BASE_DIR = Path(settings.VAR_DIR)
    (settings.BASE_DIR / "manage.py").write_text("import time; time.sleep(0.1)")
    (settings.VAR_DIR / "demo.json").write_text("{}")
    console: Any = up
    console.call_command = lambda *_arguments, **_options: None
    console.refuse_other_versions = lambda: None
    console.static_build.build_on_change = lambda: "none"
    console.demo_box.is_due = lambda *_arguments, **_options: True
    console.Account.objects.exists = lambda: False
    console.server.answers = lambda _url: True
    console.server.programs = lambda *_arguments: [Program("web server", sleeper, os.environ)]
    console.worker_commands = lambda: [("worker", sleeper), ("beat", sleeper)]
    up.Command().run_from_argv(["manage.py", "up", "--port", str(port)])


def _forked(port: int, at: Callable[[Line], None], log: Path) -> int:
    """Run the command in a fork, `at` called at each line; the wait status of the fork."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.settrace(Lines(at).trace)
        code = 0
        try:
            _run(port)
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:  # noqa: BLE001 - a fork of the asking process must not go on as it
            code = 70
            traceback.print_exc()
        sys.settrace(None)
        sys.stdout.flush()
        os._exit(code)
    deadline = time.monotonic() + LONGEST_SECONDS
    while (result := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return -1
        time.sleep(0.01)
    return result[1]


def processes(marker: str) -> list[str]:
    """The command lines of processes that name the folder, but this one's."""
    command_lines = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if marker in line:
                command_lines.append(f"{folder.name} {line[-160:]}")
    return command_lines


def _recorded(port: int, log: Path) -> list[Line]:
    """The lines of a start, in their order, each once; it is stopped by one signal."""
    recorded: dict[Line, None] = {}
    reads, writes = os.pipe()

    def at(line: Line) -> None:
        if line not in recorded:
            recorded[line] = None
            os.write(writes, f"{line[0]}:{line[1]}\n".encode())

    def with_end(line: Line) -> None:
        at(line)
        if line == last:
            os.kill(os.getpid(), signal.SIGTERM)

    last = _line_of_watch()
    _forked(port, with_end, log)
    os.close(writes)
    with os.fdopen(reads) as lines:
        pairs = [line.strip().rpartition(":") for line in lines]
    return [(name, int(number)) for name, _, number in pairs]


def _line_of_watch() -> Line:
    """The line of the watching loop: all is started there."""
    from finops.management.commands import up

    source = Path(str(up.__file__))
    lines = source.read_text().splitlines()
    return str(source), next(
        number for number, line in enumerate(lines, 1) if "self.redis_supervisor.check()" in line
    )


def _attacked(request: dict[str, Any], port: int, log: Path) -> dict[str, Any]:
    # Some lines are not reached each time; the attack is then in the watching loop.
    target, last = (request["file"], request["line"]), _line_of_watch()
    counts: Counter[Line] = Counter()

    def at(line: Line) -> None:
        counts[line] += 1
        if target in counts or counts[last] > 2:
            if request["kill"]:
                os.kill(os.getpid(), signal.SIGKILL)
            _storm()

    status = _forked(port, at, log)
    ended_at = time.monotonic()
    while (survivors := processes(str(settings.VAR_DIR))) and time.monotonic() - ended_at < request["grace"]:
        time.sleep(0.02)
    return {"status": status, "survivors": survivors, "seconds": round(time.monotonic() - ended_at, 2)}


def main() -> None:
    django.setup()
    port, log = int(sys.argv[1]), Path(settings.VAR_DIR) / "storms.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    for line in sys.stdin:
        request = json.loads(line)
        answer = _recorded(port, log) if request["record"] else _attacked(request, port, log)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
