"""Liveness and readiness for monitoring; neither needs a sign-in.

`answer_probes` serves them before every other middleware: a probe uses the machine's IP address, which is not in
ALLOWED_HOSTS, and has no cookie. The paths are in urls.py as well, for tests over all URLs.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from functools import cache, lru_cache

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from finops.lake.usage import flush_scheduler
from finops.lib.object_storage import call, open_filesystem
from finops.lib.time_limit import limit_time
from finops.telemetry.views import metrics_page
from finops.worker import liveness
from finops.worker.queues import QUEUES

logger = logging.getLogger(__name__)

# Anyone may ask; the lake, which may be remote and cost money a request, is tried this often at most.
LAKE_SECONDS = 5
LAKE_LIMIT_SECONDS = 3
"""Time limit in seconds of that check."""


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process answers. Does not query the database: its failure is no reason to restart this process."""
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the process can serve, 503 when the database or a migration is missing. Each check by name, "ok" or
    "failed", never why: the reason is in the log.

    Failures of other checks are no reason to send this process no requests. Without the lake pushes are still accepted, and
    every page except cost and usage works; without Redis each process counts limits separately; without worker or beat
    scheduled work waits. `redis` is left out where none is used. `behind` names background work that is an hour late.
    """
    results = check_results()
    ready = all(results[name] for name in NEEDED)
    words = {name: "ok" if ok else "failed" for name, ok in results.items()}
    answer = {"ready": ready, "checks": words}
    if ready and _usage_is_behind(int(time.monotonic() // LAKE_SECONDS)):
        answer["behind"] = ["usage"]
    return JsonResponse(answer, status=200 if ready else 503)


def check_results() -> dict[str, bool]:
    """Return the result of each of CHECKS by name; `redis` only where one is used."""
    return {
        name: _passes(name, check) for name, check in CHECKS.items() if name != "redis" or settings.REDIS_URL
    }


def pending_migrations() -> list[str]:
    """Migrations of this code that are not applied: `accounts.0017_suspension`."""
    missing = _required_migrations() - set(MigrationRecorder(connection).applied_migrations())
    return sorted(".".join(each) for each in missing)


def answer_probes(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        return PROBES.get(request.path_info, get_response)(request)

    return middleware


PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/healthz": healthz,
    "/readyz": readyz,
    "/metrics": metrics_page,
}


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _migrations() -> bool:
    return not pending_migrations()


@cache
def _required_migrations() -> set[tuple[str, str]]:
    """Migrations that this code requires. Reading them costs 100 ms and they cannot change while the process runs."""
    return set(MigrationLoader(None).graph.nodes)


def _lake() -> bool:
    return _write_lake_probe(settings.LAKE_URL, int(time.monotonic() // LAKE_SECONDS))


@lru_cache(maxsize=1)
def _write_lake_probe(url: str, moment: int) -> bool:
    """Write one small file to the lake's storage, and remove it. Return whether that succeeded."""
    filesystem, root = open_filesystem(url)
    path = f"{root.rstrip('/')}/.readyz-{uuid.uuid4().hex}"
    try:
        with limit_time(LAKE_LIMIT_SECONDS):
            call(filesystem, "makedirs", root, True)
            call(filesystem, "pipe_file", path, b"ok")
            call(filesystem, "rm_file", path)
    except Exception:  # each of fsspec's file systems has its own errors
        logger.exception("readyz: the check lake failed")
        return False
    return True


@lru_cache(maxsize=1)
def _usage_is_behind(moment: int) -> bool:
    return flush_scheduler.is_any_flush_stuck()


def _redis() -> bool:
    liveness.ping()
    return True


def _worker() -> bool:
    return all(liveness.is_alive(liveness.worker_of(queue)) for queue in QUEUES)


def _beat() -> bool:
    return liveness.is_alive(liveness.BEAT)


CHECKS: dict[str, Callable[[], bool]] = {
    "database": _database,
    "migrations": _migrations,
    "lake": _lake,
    "redis": _redis,
    "worker": _worker,
    "beat": _beat,
}
NEEDED = ("database", "migrations")


def _passes(name: str, check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:
        # Whatever it was, the answer is «not ready»; the log has it whole.
        logger.exception("readyz: the check %s failed", name)
        return False
