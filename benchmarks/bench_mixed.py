"""Mixed load on a console: accounts of 20 people each, their pages, assistants, pushes, imports and syncs, for an
hour.

`make bench-mixed MINUTES=60`. The service runs as under `manage.py up`, with its own PostgreSQL and Redis, all web
processes and workers; the clients are a separate process (benchmarks/mixed_load.py) on the same cores. The load is
defined in benchmarks/mixed_plan.py; BENCH_MIXED_ACCOUNTS and _PEOPLE reduce it.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import linear_regression
from typing import Any

import psutil

from benchmarks.memory import megabytes, thirds
from benchmarks.mixed_plan import Plan, plan_of_environment
from benchmarks.table import Row
from tests.chaos.services import Console
from tests.chaos.tenants import Answer
from tests.servers import ROOT

INSIDE = "benchmarks.mixed_accounts"
SAMPLE_SECONDS = 10.0
ACCOUNTS_A_CALL = 5
LOG = ROOT / "var" / "bench" / "mixed.log"
PAGE_LIMIT_MS = 1_000.0
FORMS = {"import", "sync", "exchange rate"}


@dataclass
class ResourceSamples:
    """Samples every SAMPLE_SECONDS: minutes since the start, MB by program, queue sizes, and the machine's load."""

    minutes: list[float] = field(default_factory=list)
    memory: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    queues: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    load: list[float] = field(default_factory=list)


def measure() -> list[Row]:
    plan = plan_of_environment()
    home = Path(tempfile.mkdtemp(prefix="finops-mixed-"))
    home.chmod(0o755)
    folders = home / "exports"
    folders.mkdir()
    (home / "console").mkdir()
    console = Console(home / "console", {"CONNECTION_FOLDERS": str(folders)})
    try:
        console.start()
        accounts = _accounts(console, plan, folders)
        answers, samples = _load(console, plan, accounts, home)
    finally:
        console.stop()
        LOG.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(console.log, LOG)
        shutil.rmtree(home, ignore_errors=True)
    return rows(plan, answers, samples)


def _accounts(console: Console, plan: Plan, folders: Path) -> list[dict[str, Any]]:
    accounts: list[dict[str, Any]] = []
    for first in range(0, plan.accounts, ACCOUNTS_A_CALL):
        count = min(ACCOUNTS_A_CALL, plan.accounts - first)
        accounts += console.inside.run(f"{INSIDE}:create_accounts", first, count, plan.people, str(folders))
    return accounts


def _load(
    console: Console, plan: Plan, accounts: list[dict[str, Any]], home: Path
) -> tuple[list[Answer], ResourceSamples]:
    plan_file, answers_file = home / "plan.json", home / "answers.jsonl"
    plan_file.write_text(json.dumps({"url": console.url, "plan": asdict(plan), "accounts": accounts}))
    command = [sys.executable, "-m", "benchmarks.mixed_load", str(plan_file), str(answers_file)]
    samples, start = ResourceSamples(), time.monotonic()
    with subprocess.Popen(command, cwd=ROOT) as clients:
        try:
            while clients.poll() is None:
                _take_sample(console, samples, (time.monotonic() - start) / 60)
                time.sleep(SAMPLE_SECONDS)
        finally:
            clients.terminate()
    if clients.returncode:
        raise RuntimeError(f"the clients ended with {clients.returncode}")
    return [Answer(**json.loads(line)) for line in answers_file.read_text().splitlines()], samples


def _take_sample(console: Console, samples: ResourceSamples, minutes: float) -> None:
    memory: dict[str, float] = defaultdict(float)
    for name, process in console.programs().items():
        if ", process" not in name:
            memory[program(name)] += megabytes(process.pid)
    samples.minutes.append(minutes)
    samples.load.append(os.getloadavg()[0])
    for name, size in memory.items():
        samples.memory[name].append(size)
    for name, value in console.inside.run(f"{INSIDE}:queues").items():
        samples.queues[name].append(value)


def program(name: str) -> str:
    """Return the common name of processes of one kind."""
    return next((kind for kind in ("web server", "worker") if kind in name), name)


def rows(plan: Plan, answers: Sequence[Answer], samples: ResourceSamples) -> list[Row]:
    pages = [each for each in answers if each.kind.startswith("page ")]
    groups = {
        "all pages": pages,
        "all tiles": [each for each in answers if each.kind.startswith("tile ")],
        **by(answers, lambda each: each.kind),
    }
    return [
        *(_load_row(plan, kind, answers) for kind in plan.rates()),
        *(_times(kind, group) for kind, group in groups.items()),
        *_statuses(answers),
        *_memory(samples),
        *_by_minute(samples),
        *_queues(samples),
        {
            "minutes": plan.minutes,
            "accounts": plan.accounts,
            "people": plan.accounts * plan.people,
            "requests": len(answers),
            "5xx or no answer": sum(is_failure(each) for each in answers),
            "p95 of pages under 1 s": percentile(pages, 95) < PAGE_LIMIT_MS,
            "load average": max(samples.load, default=0.0),
            "cores": psutil.cpu_count() or 0,
        },
    ]


def by(answers: Iterable[Answer], key: Any) -> dict[str, list[Answer]]:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for each in answers:
        groups[key(each)].append(each)
    return dict(sorted(groups.items()))


def is_failure(answer: Answer) -> bool:
    return answer.status == 0 or answer.status >= 500


def is_success(answer: Answer) -> bool:
    """Return whether the response is a success. A submitted form redirects; a page that redirects has lost its
    session."""
    return 200 <= answer.status < 300 or (answer.status == 302 and answer.kind in FORMS)


def percentile(answers: Sequence[Answer], percent: int) -> float:
    """Return the percentile in milliseconds, by nearest rank; 0 without requests."""
    seconds = sorted(each.seconds for each in answers)
    return seconds[math.ceil(percent / 100 * len(seconds)) - 1] * 1_000 if seconds else 0.0


def _load_row(plan: Plan, kind: str, answers: Sequence[Answer]) -> Row:
    arithmetic, rate = plan.rates()[kind]
    count = sum(each.kind == kind or each.kind.startswith(f"{kind} ") for each in answers)
    if kind == "push":
        count = sum(each.kind == kind for each in answers)
    return {
        "load": kind,
        "arithmetic": arithmetic,
        "planned per second": rate,
        "sent per second": count / plan.seconds,
    }


def _times(kind: str, group: Sequence[Answer]) -> Row:
    return {
        "request": kind,
        "requests": len(group),
        "p50 ms": percentile(group, 50),
        "p95 ms": percentile(group, 95),
        "p99 ms": percentile(group, 99),
        "maximum ms": percentile(group, 100),
        "429": sum(each.status == 429 for each in group),
        "5xx": sum(is_failure(each) for each in group),
    }


def _statuses(answers: Sequence[Answer]) -> list[Row]:
    """Return all unsuccessful statuses, with the first response of each."""
    bad = [each for each in answers if not is_success(each)]
    return [
        {
            "errors": kind,
            "status": group[0].status,
            "requests": len(group),
            "first at, s": group[0].at,
            "last at, s": group[-1].at,
            "detail": " ".join(group[0].detail.split())[:120].replace("|", "/"),
        }
        for kind, group in by(bad, lambda each: f"{each.kind}, {each.status}").items()
    ]


def _memory(samples: ResourceSamples) -> list[Row]:
    """Return thirds and the growth per hour in the last two thirds; the first third fills caches."""
    return [
        {**row, "growth, MB/h": slope(samples.minutes, samples.memory[str(row["memory, MB"])])}
        for row in thirds({name: values for name, values in samples.memory.items() if len(values) >= 3})
    ]


def _by_minute(samples: ResourceSamples) -> list[Row]:
    """Return the last sample of each minute, in MB."""
    last = {int(minute): at for at, minute in enumerate(samples.minutes)}
    return [
        {
            "minute": minute + 1,
            **{name: round(sizes[at]) for name, sizes in samples.memory.items() if at < len(sizes)},
            "load average": samples.load[at],
        }
        for minute, at in last.items()
    ]


def slope(minutes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope per hour by least squares over the last two thirds; 0 with fewer than three samples."""
    minutes, values = minutes[-len(values) :], list(values)
    first = len(values) // 3
    if len(values) - first < 3:
        return 0.0
    return linear_regression(minutes[first:], values[first:]).slope * 60


def _queues(samples: ResourceSamples) -> list[Row]:
    return [
        {"queue": name, "mean": sum(values) / len(values), "at most": max(values), "at the end": values[-1]}
        for name, values in samples.queues.items()
    ]
