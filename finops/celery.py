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

# The filesystem broker of a single machine expects its folders to be there.
for folder in settings.CELERY_BROKER_TRANSPORT_OPTIONS.values():
    Path(str(folder)).mkdir(parents=True, exist_ok=True, mode=0o700)
