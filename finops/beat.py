"""The scheduler: sends due tasks to the workers (`celery --app finops.beat:app beat`).

It refers to tasks by name only, so it loads none of them: 58 MB, where a worker holds 240.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery, signals
from django.conf import settings

from finops.lib.telemetry import logs

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")


def make_folder() -> None:
    """Create the directory of the schedule, which Celery's beat requires."""
    folder = Path(settings.CELERY_BEAT_SCHEDULE_FILENAME).parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


@signals.setup_logging.connect
def configure_logging(**signal_kwargs: Any) -> None:
    """Configure the logs of beat and workers: without a receiver Celery logs in its own format, at its own level."""
    logs.configure(settings.LOGGING)


# Without the fixup of Celery, which loads all of Django's apps.
app = Celery("finops", fixups=[], set_as_current=False)
app.config_from_object("django.conf:settings", namespace="CELERY")
make_folder()
