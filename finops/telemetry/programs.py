"""Start of telemetry in a program: a web process, a worker."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.db import connections

from finops.lake.engine import engine
from finops.lib.bulkheads import Bulkhead
from finops.lib.telemetry import metrics

WEB: Final = "web"
logger = logging.getLogger(__name__)


def start(program: str, bulkheads: Sequence[Bulkhead] = ()) -> None:
    """Start metrics and error reports in this process, where settings enable them."""
    if settings.SENTRY_DSN:
        from finops.telemetry import error_reports

        error_reports.start()
    if settings.TRACES_URL:
        from finops.telemetry import traces

        traces.start(program)
    if settings.METRICS_TOKEN:
        _start_metrics(program, bulkheads)


def _start_metrics(program: str, bulkheads: Sequence[Bulkhead]) -> None:
    # A full disk must not stop the service: metrics are then off.
    try:
        metrics.enable(settings.METRICS_DIR)
    except OSError as error:
        logger.warning("metrics: off in this process: %s", error)
        return
    metrics.samplers[:] = [_sample_pool, _sample_result_cache, lambda: _sample_bulkheads(bulkheads)]
    metrics.start_sampling(program)
    if settings.METRICS_LISTEN and program != WEB:
        from finops.telemetry import worker_endpoint

        worker_endpoint.start(settings.METRICS_LISTEN)


def _sample_bulkheads(bulkheads: Sequence[Bulkhead]) -> None:
    for each in bulkheads:
        metrics.RUNNING_REQUESTS.set(each.running, each.name)
        metrics.WAITING_REQUESTS.set(each.queue_length, each.name)


def _sample_result_cache() -> None:
    metrics.RESULT_CACHE_BYTES.set(engine.result_cache_bytes())


def _sample_pool() -> None:
    pool: Any = getattr(connections["default"], "pool", None)
    if pool is None:
        return
    figures = pool.get_stats()
    size, idle = figures.get("pool_size", 0), figures.get("pool_available", 0)
    metrics.POOL.set(size, "open")
    metrics.POOL.set(size - idle, "in_use")
    metrics.POOL_WAITING.set(figures.get("requests_waiting", 0))
