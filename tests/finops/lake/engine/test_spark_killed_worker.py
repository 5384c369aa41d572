"""A worker of Apache Spark that is killed while it answers (`make test-spark`): the other one finishes its work, and without any
worker a question ends at its deadline. It runs last, since no worker is left."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future
from decimal import Decimal

import psutil
import pytest
from django.conf import LazySettings

from finops.lake.engine import engine
from finops.lake.schema import Kind
from tests.cast import Cast
from tests.finops.lake.engine.test_spark import cluster
from tests.finops.lake.engine.test_spark_cluster import every_triple
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, line, store, total
from tests.waiting import threads, wait_until

__all__ = ["cluster"]

WORKERS = [int(pid) for pid in os.environ.get("SPARK_TEST_WORKERS", "").split()]
LINES = 400

pytestmark = [pytest.mark.django_db, pytest.mark.spark]


def processor_seconds(worker: psutil.Process) -> float:
    """Of its executors, which do the work."""
    times = [each.cpu_times() for each in worker.children(recursive=True)]
    return sum(each.user + each.system for each in times)


@pytest.mark.usefixtures("cluster")
def test_the_work_of_a_killed_worker_is_finished_by_the_other(cast: Cast, settings: LazySettings) -> None:
    assert WORKERS, "This test kills a worker of Apache Spark: run `make test-spark`."
    # A file for each of the two workers.
    store(cast.account, [line(JANUARY, number) for number in range(0, LINES, 2)])
    store(cast.account, [line(FEBRUARY, number) for number in range(1, LINES, 2)], month=FEBRUARY)
    settings.LAKE_DEADLINE_SECONDS = 300
    assert total(cast.account) == sum(range(LINES))
    killed, survivor = map(psutil.Process, WORKERS)
    used = processor_seconds(killed)

    def kill_at_work() -> float:
        wait_until(lambda: processor_seconds(killed) > used + 2, "it does not work", seconds=120)
        killed.kill()
        return time.monotonic()

    with threads(1) as call:
        at: Future[float] = call(kill_at_work)
        table = engine.run(cast.account, Kind.COST, *EVER, every_triple)
        assert at.result() < time.monotonic()
    # The triples of 0 … n − 1 in which the first two are below the third together.
    assert table.to_pylist() == [{"lower": (LINES + 1) * LINES * (LINES - 1) // 6}]
    assert total(cast.account) == Decimal(sum(range(LINES)))

    survivor.kill()
    settings.LAKE_DEADLINE_SECONDS = 10
    start = time.monotonic()
    with pytest.raises((engine.LakeTimeout, engine.LakeUnavailable)):
        total(cast.account)
    assert time.monotonic() - start < 30
