"""Request ids of tasks, and their outcome and time as metrics, by Celery's signals. Imported by workers and senders of
tasks."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from time import perf_counter
from typing import Any

from celery import Task, signals

from finops.lib.telemetry import context, metrics, spans
from finops.lib.telemetry.context import TENANT, Work

REQUEST_ID = "request_id"


class _Running(threading.local):
    """The tasks that this thread is running, each with its start time: a task run by another's `apply` is nested in it."""

    def __init__(self) -> None:
        self.tasks: list[tuple[ExitStack, float]] = []


_running = _Running()


@signals.before_task_publish.connect
def send_request_id(headers: dict[str, Any] | None = None, **signal_kwargs: Any) -> None:
    """Pass the request id of the current request or task to the task that it sends."""
    request_id = context.request_id()
    if headers is None:
        return
    if request_id:
        headers[REQUEST_ID] = request_id
    spans.carry(headers)


@signals.task_prerun.connect
def begin(task_id: str = "", task: Task | None = None, args: Any = (), **signal_kwargs: Any) -> None:
    """Begin the work of a task. The account id is a task's first argument (`finops.worker.pool`)."""
    sender_id = getattr(task.request, REQUEST_ID, None) if task is not None else None
    parent = getattr(task.request, spans.TRACE_PARENT, None) if task is not None else None
    account = args[0] if args and isinstance(args[0], int) else ""
    name = str(task.name) if task is not None else ""
    work = Work(
        context.accepted_request_id(sender_id or task_id), {TENANT: f"account {account}"}, task_id, name
    )
    stack = ExitStack()
    stack.enter_context(context.work(work))
    stack.enter_context(spans.span(f"task {name}", "CONSUMER", parent=parent, finops__task_id=task_id))
    _running.tasks.append((stack, perf_counter()))


@signals.task_postrun.connect
def end(task: Task | None = None, state: str | None = None, **signal_kwargs: Any) -> None:
    if not _running.tasks:
        return
    stack, start = _running.tasks.pop()
    if task is not None:
        metrics.TASKS.inc(str(task.name), (state or "unknown").lower())
        metrics.TASK_SECONDS.observe(perf_counter() - start, str(task.name))
    stack.close()
