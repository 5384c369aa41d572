"""The worker's programs: the one place that defines which there are and how each is run.

Three processes rather than three pools in one: an import or an upload that uses much processor time or memory then does not
delay due work. Each costs 190 MB at rest (120 MB of its own); `python -m finops.worker` without a name serves all queues in
one, for a smaller machine.
"""

from __future__ import annotations

import sys
from typing import Final

from finops.heartbeat import BEAT
from finops.worker.queues import IMPORTS, INSIGHTS, QUEUES, SHORT, threads_of

NICENESS: Final = {SHORT: 5, IMPORTS: 10, INSIGHTS: 10}
"""Where all share a few cores, requests have priority, then due work."""


def worker_commands() -> list[tuple[str, list[str]]]:
    """Return name and command line of each program that a machine needs. Beat is one of them, 58 MB: as a child of a worker
    its end would not be noticed."""
    return [
        ("worker", _command(SHORT)),
        ("import worker", _command(IMPORTS)),
        ("insights worker", _command(INSIGHTS)),
        (BEAT, _beat_command()),
    ]


def celery_arguments(queue: str | None, *, beat: bool) -> list[str]:
    """Celery's arguments for the program of a queue or of all of them."""
    queues = QUEUES if queue is None else (queue,)
    clock = ["--beat"] if beat else []
    return [
        *("--quiet", "worker", "--queues", ",".join(queues)),
        *("--hostname", f"{queue or 'all'}@%h", *clock),
        *("--concurrency", str(sum(threads_of(each) for each in queues)), "--loglevel", "WARNING"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]


def _command(queue: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "finops.worker", queue, *arguments]


def _beat_command() -> list[str]:
    beat = ["beat", "--pidfile", "", "--loglevel", "WARNING"]
    return [sys.executable, "-m", "celery", "--quiet", "--app", "finops.beat:app", *beat]
