"""`python -m finops.worker [short|imports|insights] [--beat]`: a worker as production runs it."""

from __future__ import annotations

import argparse
import os
from typing import Any

import django
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection

from finops.lib import garbage
from finops.worker.programs import NICENESS, celery_arguments
from finops.worker.queues import QUEUES, SHORT


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m finops.worker", description="Run the worker of the console."
    )
    parser.add_argument("queue", nargs="?", choices=QUEUES, help="what it does (default: everything)")
    parser.add_argument("--beat", action="store_true", help="be the clock as well; exactly one is")
    arguments = parser.parse_args()
    # Before any thread, since niceness is a thread's and passed on to those it starts; and before the application is
    # loaded, which takes 2 s of CPU.
    os.nice(NICENESS.get(arguments.queue, NICENESS[SHORT]))
    with garbage.loading():
        from finops.celery import app

        django.setup()
    from finops.lake.storage.lake_version import OtherVersion, refuse_other_versions
    from finops.telemetry import programs
    from finops.worker.liveness import refuse_without_redis

    try:
        refuse_without_redis()
        refuse_other_versions()
    except (ImproperlyConfigured, OtherVersion) as error:
        parser.exit(1, f"{error}\n")
    except OperationalError as error:
        parser.exit(1, f"The database does not answer: {error}\n")
    # Processes that it forks have connections of their own.
    of_start: Any = connection
    of_start.close()
    of_start.close_pool()

    programs.start(f"worker-{arguments.queue or 'all'}")
    app.start(celery_arguments(arguments.queue, beat=arguments.beat))


if __name__ == "__main__":
    main()
