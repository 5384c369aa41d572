"""When beat sends what, by its own schedule file, and what of it is counted."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from celery import Celery
from celery.beat import ScheduleEntry
from django.conf import settings as project
from pytest_django import Settings

from finops.beat import app
from finops.lib.telemetry import metrics
from finops.worker.liveness import Scheduler
from tests.deployment import redis_server
from tests.finops.telemetry.programs import program
from tests.finops.telemetry.scrape import TOKEN, Scrape, answers, scrape_worker
from tests.servers import free_port
from tests.waiting import wait_until

DAILY = "costs.remove_forgotten_uploads"


@pytest.fixture
def dead_redis_url(settings: Settings) -> str:
    """The URL of a Redis that does not answer."""
    url = f"redis://127.0.0.1:{free_port()}/0"
    settings.REDIS_URL = url
    return url


@pytest.mark.usefixtures("dead_redis_url")
def test_a_daily_task_is_due_at_the_first_start_and_then_a_day_later(tmp_path: Path) -> None:
    file = str(tmp_path / "schedule")
    with closing(Scheduler(app, schedule_filename=file)) as first:
        assert [name for name, entry in first.schedule.items() if not entry.is_due().is_due] == []
        first.reserve(first.schedule[DAILY])
    with closing(Scheduler(app, schedule_filename=file)) as second:
        is_due, wait = second.schedule[DAILY].is_due()
        assert (is_due, wait > 86_000) == (False, True)


@pytest.mark.usefixtures("metrics_folder")
def test_a_message_that_cannot_be_sent_is_counted(dead_redis_url: str, tmp_path: Path) -> None:
    sender = Celery("dead_redis_url", broker=dead_redis_url, set_as_current=False)
    sender.conf.task_publish_retry = False
    sender.conf.broker_transport_options = {"max_retries": 0}
    with closing(Scheduler(sender, schedule_filename=str(tmp_path / "schedule"))) as beat:
        beat.apply_entry(ScheduleEntry(name="it", task="it", schedule=60.0, app=sender))

    assert Scrape(metrics.exposition()[1].decode()).value("finops_beat_messages_total", outcome="failed") == 1


def test_beat_reports_its_last_run_and_what_is_due(tmp_path: Path) -> None:
    port = free_port()
    environment = {
        "VAR_DIR": str(tmp_path / "var"),
        "METRICS_TOKEN": TOKEN,
        "METRICS_LISTEN": f"127.0.0.1:{port}",
    }

    with redis_server() as redis, program("beat", tmp_path / "beat.log", {**environment, "REDIS_URL": redis}):
        wait_until(lambda: answers(port))
        wait_until(
            lambda: (
                scrape_worker(port).value("finops_beat_messages_total", outcome="sent")
                >= len(project.CELERY_BEAT_SCHEDULE)
            )
        )
        wait_until(lambda: scrape_worker(port).value("finops_beat_entries_due") == 0)
        scrape = scrape_worker(port)

    assert abs(time.time() - scrape.value("finops_beat_last_tick_timestamp_seconds")) < 60
    assert scrape.value("finops_processes", program="beat") == 1
