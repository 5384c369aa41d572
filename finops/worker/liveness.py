"""Liveness of worker and beat on any machine, for /readyz of every web process.

The timestamps are in Redis, like their messages; neither runs without it. Beat records its own; it also sends a message to
each queue, and the worker that receives it records the queue. A busy worker has no time for that message, so it is recorded
while it runs any task. (finops.heartbeat is another thing: what a program reports to the supervisor that started it.)
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from functools import cache
from operator import methodcaller
from typing import Any, Final

from celery import Task, shared_task
from celery.beat import PersistentScheduler
from celery.signals import task_postrun, task_prerun
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from redis import Redis, RedisError

from finops import heartbeat
from finops.lib.circuit_breaker import CircuitBreaker
from finops.lib.telemetry import metrics
from finops.telemetry import worker_endpoint

log = logging.getLogger(__name__)

NOTE_SECONDS: Final = 10.0
HEARTBEAT_SECONDS: Final = 5.0
LATE_SECONDS: Final = 60.0
"""A program without a timestamp for this long counts as dead: some may be lost, and a restart takes a while."""
BEAT: Final = "beat"
_KEPT_SECONDS: Final = 86_400
LONGEST_PERIOD: Final = timedelta(days=1)
"""The longest period of beat's tasks."""

_breaker = CircuitBreaker("Redis", "the state of worker and beat is unknown")


def worker_of(queue: str) -> str:
    """The name that workers of a queue are recorded by."""
    return f"worker-{queue}"


def note(name: str) -> None:
    """Record that the program is alive now. Never fails: the program continues without the record."""
    if not settings.REDIS_URL:
        return
    with suppress(RedisError):
        _ask(lambda redis: redis.set(_key(name), time.time(), ex=_KEPT_SECONDS))


def last_note(name: str) -> float:
    """Return the last timestamp as Unix time; 0 for never. Raises RedisError where Redis does not answer, because the state
    is then unknown."""
    value = _ask(lambda redis: redis.get(_key(name))) if settings.REDIS_URL else None
    return float(value) if isinstance(value, bytes) else 0.0


def is_alive(name: str) -> bool:
    """Whether the last timestamp is recent. Raises RedisError as `last_note` does."""
    return is_recent(last_note(name))


def is_recent(moment: float) -> bool:
    return abs(time.time() - moment) <= LATE_SECONDS


def ping() -> None:
    """Check that Redis answers. Raises RedisError where it does not."""
    _ask(lambda redis: redis.ping())


def refuse_without_redis() -> None:
    """Raise ImproperlyConfigured for a worker or beat without a Redis, where no messages can arrive."""
    if not settings.REDIS_URL:
        raise ImproperlyConfigured(
            "REDIS_URL is not set: workers and beat get their messages from Redis. Set it, or start with `manage.py up`, "
            "which brings one."
        )


def lengths(queues: Iterable[str]) -> dict[str, int]:
    """Return how many messages wait in each queue. Raises RedisError where Redis does not answer."""
    return {queue: int(_ask(methodcaller("llen", queue))) for queue in queues}


def _ask(question: Callable[[Redis], Any]) -> Any:
    """Return Redis's reply. Raises RedisError, at once where Redis was unavailable a moment ago."""
    if _breaker.is_open():
        raise RedisError("Redis was away a moment ago.")
    try:
        with _breaker.call():
            return question(_redis())
    except RedisError as error:
        _breaker.record_failure(error)
        raise


@cache
def _redis() -> Redis:
    return Redis.from_url(settings.REDIS_URL, **settings.REDIS_OPTIONS)


def _key(name: str) -> str:
    return f"finops:alive:{name}"


class Scheduler(PersistentScheduler):
    """Beat's scheduler, which records each tick. A task that never ran is due at once: Celery counts from the start, so
    that a daily task of an installation whose VAR_DIR is new with each release would never run."""

    _noted = 0.0

    def setup_schedule(self) -> None:
        refuse_without_redis()
        super().setup_schedule()
        _start_metrics()
        for entry in self.schedule.values():
            if not entry.total_run_count:
                entry.last_run_at -= LONGEST_PERIOD

    def tick(self, *args: Any, **options: Any) -> float:
        heartbeat.beat(heartbeat.BEAT)
        wait: float = super().tick(*args, **options)
        metrics.BEAT_TICK.set(time.time())
        metrics.BEAT_DUE.set(sum(entry.is_due().is_due for entry in self.schedule.values()))
        if time.monotonic() - self._noted >= NOTE_SECONDS:
            self._noted = time.monotonic()
            note(BEAT)
        return min(wait, HEARTBEAT_SECONDS)

    def apply_async(self, *args: Any, **options: Any) -> Any:
        outcome = "failed"
        try:
            result = super().apply_async(*args, **options)
            outcome = "sent"
            return result
        finally:
            metrics.BEAT_SENT.inc(outcome)


def _start_metrics() -> None:
    """Start the metrics of a beat that is a program of its own; within a worker it counts as the worker does."""
    if not settings.METRICS_TOKEN or metrics.directory() is not None:
        return
    try:
        metrics.enable(settings.METRICS_DIR)
    except OSError as error:
        log.warning("metrics: off in this process: %s", error)
        return
    metrics.start_sampling(BEAT)
    if settings.METRICS_LISTEN:
        worker_endpoint.start(settings.METRICS_LISTEN)


@shared_task(name="finops.note_worker", bind=True)
def note_worker(self: Task) -> None:
    """Record the queue's worker; beat sends this task to each queue."""
    if queue := _queue_of(self):
        note(worker_of(queue))


class _Busy:
    """Records the queues of the tasks that run in this process, while any runs."""

    def __init__(self) -> None:
        self._running: dict[str, str] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def begin(self, task_id: str, queue: str) -> None:
        with self._changed:
            self._running[task_id] = queue
            if self._thread is None:
                self._thread = threading.Thread(target=self._note_all, name="liveness", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self, task_id: str) -> None:
        with self._changed:
            self._running.pop(task_id, None)

    def _note_all(self) -> None:
        while True:
            with self._changed:
                while not self._running:
                    self._changed.wait()
            time.sleep(NOTE_SECONDS)
            with self._changed:
                queues = set(self._running.values())
            for queue in queues:
                note(worker_of(queue))


_busy = _Busy()


@task_prerun.connect
def _begin(task_id: str = "", task: Any = None, **signal_kwargs: Any) -> None:
    if queue := _queue_of(task):
        _busy.begin(task_id, queue)


@task_postrun.connect
def _end(task_id: str = "", **signal_kwargs: Any) -> None:
    _busy.end(task_id)


def _queue_of(task: Task) -> str:
    """The queue that the task's message came from; none when it was called and not sent."""
    return str((task.request.delivery_info or {}).get("routing_key") or "")
