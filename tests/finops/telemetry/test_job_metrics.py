"""Outcomes of jobs, and how long tasks wait for a thread, as metrics."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostSource
from finops.lib.telemetry import metrics
from finops.worker.pool import FairQueue
from ingestion.services import uploads
from tests.cast import Cast
from tests.factories.imports import queue_import
from tests.finops.connections.pushes.push_steps import create_cost_client, csv_rows
from tests.finops.costs.focus_reader import as_csv
from tests.finops.telemetry.scrape import Scrape
from tests.ingestion.push_client import create_push_client
from tests.ingestion.upload_client import csv, line, send
from tests.waiting import wait_until

OUTCOMES = ("done", "failed", "waiting")


def counts() -> Scrape:
    return Scrape(metrics.exposition()[1].decode())


@pytest.mark.django_db
@pytest.mark.usefixtures("metrics_folder")
def test_imports_are_counted_by_how_they_ended(cast: Cast) -> None:
    with account_scope(cast.account):
        source = CostSource.objects.create(account=cast.account, name="Bills")
        for data in (as_csv({}, {"BilledCost": "2"}), b"no,bill\n1,2\n", as_csv({"BilledCost": "much"})):
            services.run_import(queue_import(cast, source, data).pk)

    scrape = counts()
    assert scrape.value("finops_cost_imports_total", outcome="done") == 1
    assert (
        sum(value for (name, _), value in scrape.samples.items() if name == "finops_cost_imports_total") == 3
    )


@pytest.mark.django_db
@pytest.mark.usefixtures("metrics_folder")
def test_pushes_of_cost_are_counted_with_their_imports(cast: Cast) -> None:
    cost_client = create_cost_client(cast)
    assert cost_client.push(csv_rows("1.5"))["status"] == "done"
    assert cost_client.push("no bill")["status"] == "failed"

    scrape = counts()
    assert scrape.value("finops_cost_pushes_total", outcome="done") == 1
    assert scrape.value("finops_cost_pushes_total", outcome="failed") == 1
    assert scrape.value("finops_cost_imports_total", outcome="done") == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("metrics_folder")
def test_uploads_of_usage_are_counted_once_they_ended(cast: Cast, settings: Settings) -> None:
    job = send(create_push_client(cast), csv(line(1), line(2)), cast)
    room, settings.LOW_DISK_BYTES = settings.LOW_DISK_BYTES, 10**18
    assert uploads.run_upload(job.pk) is False
    waiting = counts()
    settings.LOW_DISK_BYTES = room
    assert uploads.run_upload(job.pk)

    assert waiting.value("finops_usage_uploads_total", outcome="done") == 0
    assert counts().value("finops_usage_uploads_total", outcome="done") == 1


def test_a_lane_counts_what_waits_for_its_threads_and_how_long(metrics_folder: Path) -> None:
    lane, release, runs = FairQueue("deliveries", threads=1), threading.Event(), list[int]()

    def run() -> None:
        runs.append(1)
        release.wait(20)

    for tenant in range(3):
        lane.add(tenant, tenant, run)
    wait_until(lambda: len(runs) == 1)
    lane_counts = counts()
    release.set()
    wait_until(lambda: len(runs) == 3)
    lane.close()

    assert lane_counts.value("finops_worker_lane_waiting", lane="deliveries") == 2
    assert lane_counts.value("finops_worker_lane_wait_seconds_count", lane="deliveries") == 1
    after = counts()
    assert after.value("finops_worker_lane_waiting", lane="deliveries") == 0
    assert after.value("finops_worker_lane_wait_seconds_count", lane="deliveries") == 3
