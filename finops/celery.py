"""The task queue. `finops.worker` says which programs serve it, and which work waits for which."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from celery import Celery
from celery.platforms import SecurityWarning
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")

# It warns of running as root, which is what containers do. The danger it means is pickle; ours is JSON.
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges", SecurityWarning)

app = Celery("finops")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.include = ["finops.worker.liveness"]

# Beat expects the folder of its schedule to be there, and the broker of a single machine those of its messages.
_folders = [Path(settings.CELERY_BEAT_SCHEDULE_FILENAME).parent]
if not settings.REDIS_URL:
    _folders += [Path(str(folder)) for folder in settings.CELERY_BROKER_TRANSPORT_OPTIONS.values()]
for folder in _folders:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
