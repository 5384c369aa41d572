"""Modules that the server of `finops.lib.child_process` imports before it forks: importing them costs 2.3 s of CPU, a fork
10 ms.

Clients of S3 too: 0.2 s and 16 MB once, else 0.2 s for each check and fetch.

Imported by that server only. It starts no thread and opens no connection, because a fork would copy those incompletely.
"""

from __future__ import annotations

import importlib
import signal

import django

from finops.lib import garbage

# `manage.py up` asks the whole group to end: the worker waits for its import, and this server ends with the worker.
signal.signal(signal.SIGTERM, signal.SIG_IGN)

with garbage.loading():
    django.setup()
    for name in (
        "finops.costs.services.attempts",
        "finops.connections.services.month_fetch",
        "finops.connections.services.source_listings",
        "finops.connections.transports.s3_session",
        "s3fs",
        "ingestion.services.uploads",
    ):
        importlib.import_module(name)
