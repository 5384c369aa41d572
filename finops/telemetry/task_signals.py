"""Request ids of tasks, and their outcome and time as metrics, by Celery's signals. Imported by workers and whoever sends."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import Any

from celery import Task, signals

from finops.lib.telemetry import context, metrics, spans
from finops.lib.telemetry.context import TENANT, Work

REQUEST_ID = "request_id"
_thread = threading.local()


@signals.before_task_publish.connect
def send_request_id(headers: dict[str, Any] | None = None, **signal_kwargs: Any) -> None:
    """A task that a request or another task asks for has its request id."""
    request_id = context.request_id()
    if headers is None:
        return
    if request_id:
        headers[REQUEST_ID] = request_id
    spans.carry(headers)


@signals.task_prerun.connect
def begin(task_id: str = "", task: Task | None = None, args: Any = (), **signal_kwargs: Any) -> None:
    """A task of an account takes its id first (`finops.worker.pool`)."""
    given = getattr(task.request, REQUEST_ID, None) if task is not None else None
    account = args[0] if args and isinstance(args[0], int) else ""
    environment = {TENANT: f"account {account}"}
    name = str(task.name) if task is not None else ""
    _thread.before = context.current()
    context.begin(Work(context.accepted_request_id(given or task_id), environment, task_id, name))
    _thread.began = perf_counter()
    parent = getattr(task.request, spans.TRACE_PARENT, None) if task is not None else None
    _thread.span = spans.span(f"task {name}", "CONSUMER", parent=parent, finops__task_id=task_id)
    _thread.span.__enter__()


@signals.task_postrun.connect
def end(task: Task | None = None, state: str | None = None, **signal_kwargs: Any) -> None:
    if task is not None:
        metrics.TASKS.inc(str(task.name), (state or "unknown").lower())
        metrics.TASK_SECONDS.observe(
            perf_counter() - getattr(_thread, "began", perf_counter()), str(task.name)
        )
    span = getattr(_thread, "span", None)
    if span is not None:
        _thread.span = None
        span.__exit__(None, None, None)
    # A task that was called and not sent: the work around it goes on.
    context.begin(getattr(_thread, "before", None))
