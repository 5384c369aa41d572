"""Requests to a worker succeed without a broker: beat sends the task within a minute."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

# In a process of its own: the broker is chosen when Celery's app is made.
PUBLISH = """
import django
django.setup()
from finops.worker.broker import publish
publish("costs.run_import", 1, 2, expires=60)
publish("costs.run_import", 1, 2, expires=60)
"""


@pytest.mark.slow
def test_a_redis_that_hangs_holds_no_caller(tmp_path: Path) -> None:
    with socket.socket() as hanging:
        hanging.bind(("127.0.0.1", 0))
        hanging.listen()
        environment = {
            **os.environ,
            "REDIS_URL": f"redis://127.0.0.1:{hanging.getsockname()[1]}/0",
            "VAR_DIR": str(tmp_path),
        }
        ended = subprocess.run(
            [sys.executable, "-c", PUBLISH],
            cwd=settings.BASE_DIR,
            env=environment,
            timeout=60,
            capture_output=True,
            text=True,
            check=True,
        )
    assert ended.stderr.count("The broker does not answer") == 1
