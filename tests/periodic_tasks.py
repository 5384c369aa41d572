"""Periodic work without beat: runs the task, and then each task that it queues, one after another."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from finops.celery import app


def run_due(dispatcher: Any) -> None:
    calls: list[tuple[Any, list[int]]] = []
    with patch.object(app.Task, "apply_async", lambda task, args, **_: calls.append((task, args))):
        dispatcher.run()
    for task, args in calls:
        task.run(*args)
