"""Is it alive, is it ready? Two answers for whoever watches the process; neither needs a sign-in."""

from __future__ import annotations

import logging
from collections.abc import Callable

import fsspec
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process answers. Asks nothing of the database: a broken database is no reason to restart."""
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when it can serve, 503 when a check fails. Says which, never why: the reason is in the log."""
    checks = {name: _passes(name, check) for name, check in CHECKS.items()}
    ready = all(checks.values())
    words = {name: "ok" if passed else "failed" for name, passed in checks.items()}
    return JsonResponse({"ready": ready, "checks": words}, status=200 if ready else 503)


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _migrations() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def _lake() -> bool:
    """Writes one small file where the lake is, and removes it."""
    storage, root = fsspec.core.url_to_fs(settings.LAKE_URL)
    storage.makedirs(root, exist_ok=True)
    path = f"{root.rstrip('/')}/.readyz"
    storage.pipe_file(path, b"ok")
    storage.rm_file(path)
    return True


CHECKS: dict[str, Callable[[], bool]] = {"database": _database, "migrations": _migrations, "lake": _lake}


def _passes(name: str, check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:
        # Whatever it was, the answer is «not ready», and the log has it whole.
        logger.exception("readyz: the check %s failed", name)
        return False
