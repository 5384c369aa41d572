"""What tests have done by the processes of a served program."""

from __future__ import annotations

from finops.celery import app
from finops.lib.telemetry import context
from finops.lib.telemetry.context import Work
from finops.worker.queues import SHORT


def send_note() -> None:
    with context.work(Work("sent-3")):
        app.send_task("finops.note_worker", queue=SHORT)
