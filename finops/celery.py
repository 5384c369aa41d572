"""The task queue. `finops.worker` says which programs serve it, and which work waits for which."""

from __future__ import annotations

import os
import warnings
from typing import Any

from celery import Celery, bootsteps
from celery.platforms import SecurityWarning

from finops.beat import make_folders
from finops.heartbeat import WORKER, HeartbeatThread

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")

# It warns of running as root, which is what containers do. The danger it means is pickle; ours is JSON.
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges", SecurityWarning)

app = Celery("finops")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.include = ["finops.worker.liveness"]

make_folders()


class WorkerHeartbeat(bootsteps.StartStopStep):
    """Heartbeats of a worker: by way of its loop while that takes messages. While it has no broker, waiting for one is what
    it has to do, and the process's own turns are enough."""

    def __init__(self, consumer: Any, **kwargs: Any) -> None:
        super().__init__(consumer, **kwargs)
        self.heart = HeartbeatThread(WORKER)

    def start(self, consumer: Any) -> None:
        if not self.heart.is_alive():
            self.heart.start()
        self.heart.through = consumer.call_soon

    def stop(self, consumer: Any) -> None:
        self.heart.through = None


app.steps["consumer"].add(WorkerHeartbeat)
