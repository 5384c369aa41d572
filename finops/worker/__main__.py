"""`python -m finops.worker [short|imports|insights] [--beat]`: a worker as production runs it."""

from __future__ import annotations

import argparse
import logging
import os
import time
from typing import Any

import django
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection

from finops.lib import garbage
from finops.worker.programs import NICENESS, celery_arguments
from finops.worker.queues import QUEUES, SHORT

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m finops.worker", description="Run the worker of the console."
    )
    parser.add_argument("queue", nargs="?", choices=QUEUES, help="queues to run (default: all)")
    parser.add_argument("--beat", action="store_true", help="be the clock as well; exactly one is")
    arguments = parser.parse_args()
    # Before any thread, since niceness is a thread's and passed on to those it starts; and before the application is
    # loaded, which takes 2 s of CPU.
    os.nice(NICENESS.get(arguments.queue, NICENESS[SHORT]))
    with garbage.loading():
        from finops.celery import app

        django.setup()
    from finops.lake.storage.lake_version import OtherVersion
    from finops.lib import memory
    from finops.telemetry import programs
    from finops.worker.liveness import refuse_without_redis

    try:
        refuse_without_redis()
        _check_lake_version()
    except (ImproperlyConfigured, OtherVersion) as error:
        parser.exit(1, f"{error}\n")
    # Processes that it forks have connections of their own.
    of_start: Any = connection
    of_start.close()
    of_start.close_pool()

    programs.start(f"worker-{arguments.queue or 'all'}")
    memory.return_memory_regularly()
    app.start(celery_arguments(arguments.queue, beat=arguments.beat))


def _check_lake_version() -> None:
    """Check the lake's version once the database answers: a worker outlives an outage of it at its start too. Raises
    OtherVersion."""
    from finops.lake.storage.lake_version import refuse_other_versions

    while True:
        try:
            return refuse_other_versions()
        except OperationalError as error:
            logger.warning("The database does not answer; trying again in %d s: %s", RETRY_SECONDS, error)
            time.sleep(RETRY_SECONDS)


if __name__ == "__main__":
    main()
