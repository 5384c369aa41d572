"""The Celery application. `finops.worker` defines its programs, queues and lanes."""

from __future__ import annotations

import os
import warnings
from typing import Any

from celery import Celery, Task, bootsteps
from celery.platforms import SecurityWarning
from django.conf import settings

from finops.beat import make_folder
from finops.heartbeat import WORKER, HeartbeatThread
from finops.lib.cost_access import cost_access

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")

# It warns of running as root, which is what containers do. The danger it means is pickle; ours is JSON.
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges", SecurityWarning)

RUNS_WHILE_SUSPENDED = frozenset(
    {
        "accounts.delete_account",
        "exports.run",
        "ingestion.flush_usage",
        "ingestion.tidy_usage",
        "ingestion.void_asked",
        "lake.merge_usage",
        "lake.summarise",
    }
)
"""Tasks that also run for suspended accounts: they maintain stored data, or delete the account."""


class AccountTask(Task):
    """A task whose first argument is the account: it does nothing for a suspended account, and is due again once the
    account is resumed. Tasks work for the account, so they read all of its cost. Cost: a query by primary key a task."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from accounts.services.suspension import is_suspended

        if args and self.name not in RUNS_WHILE_SUSPENDED and is_suspended(args[0]):
            return None
        with cost_access(None):
            return super().__call__(*args, **kwargs)


class TaskQueue(Celery):
    """A queue that drops tasks without REDIS_URL, when no worker runs: the database records what is due."""

    def send_task(self, *args: Any, **options: Any) -> Any:
        return super().send_task(*args, **options) if settings.REDIS_URL else None


app = TaskQueue("finops", task_cls=AccountTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.include = ["finops.worker.liveness"]

make_folder()


class WorkerHeartbeat(bootsteps.StartStopStep):
    """Heartbeats of a worker: from its event loop while that receives messages. Without a broker the loop only waits for
    one, and a running process is enough."""

    def __init__(self, consumer: Any, **kwargs: Any) -> None:
        super().__init__(consumer, **kwargs)
        self.heart = HeartbeatThread(WORKER)

    def start(self, consumer: Any) -> None:
        # The thread may have ended unnoticed, and a thread starts once: each connection to the broker begins here.
        if not self.heart.is_alive():
            self.heart = HeartbeatThread(WORKER)
            self.heart.start()
        self.heart.through = consumer.call_soon

    def stop(self, consumer: Any) -> None:
        self.heart.through = None


app.steps["consumer"].add(WorkerHeartbeat)
