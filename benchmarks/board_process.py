"""Load a dashboard in this process: `python board_process.py <viewer's id> <URL of each widget>`; prints the figures
as JSON.

Django is loaded as in a web server; no request precedes the first widget.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import import_module

import django
import msgspec

NOW = datetime(2025, 12, 20, 12, tzinfo=UTC)
AT_ONCE = 6

Timing = tuple[float, float]
"""Seconds, and processor seconds of this process."""


def main(viewer: str, urls: list[str]) -> None:
    django.setup()
    import_module("finops.urls")
    from django.conf import settings

    settings.LAKE_DEADLINE_SECONDS = 300  # to the end, also while the machine does other things
    answer_bytes, settings.LAKE_ANSWERS_BYTES = settings.LAKE_ANSWERS_BYTES, 0
    by_action = {
        "cold": _paint(viewer, urls, {}),
        "days": _paint(viewer, urls, {"period": "last_30_days"}),
        "warm": _paint(viewer, urls, {}),
        "alone": [_ask(viewer, url, {}) for url in urls],
    }
    settings.LAKE_ANSWERS_BYTES = answer_bytes
    _paint(viewer, urls, {})
    by_action["kept"] = _paint(viewer, urls, {})
    sys.stdout.write(msgspec.json.encode(by_action).decode() + "\n")


def _paint(viewer: str, urls: list[str], params: dict[str, str]) -> Timing:
    """Load all widgets and return the time until the last one."""
    start, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda url: _ask(viewer, url, params), urls))
    return time.perf_counter() - start, time.process_time() - used


def _ask(viewer: str, url: str, params: dict[str, str]) -> Timing:
    from django.db import connection

    from accounts.models import User
    from finops.lib import clock
    from tests.cast import signed_in

    start, used = time.perf_counter(), time.process_time()
    try:
        with clock.frozen(NOW):
            answer = signed_in(User.objects.get(pk=viewer)).get(url, params)
        body = answer.content.decode()
        if answer.status_code != 200 or "alert-danger" in body:
            raise RuntimeError(f"{url} answered {answer.status_code}: {body[:500]}")
    finally:
        connection.close()
    return time.perf_counter() - start, time.process_time() - used


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
