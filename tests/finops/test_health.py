from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from finops.celery import app
from finops.worker import liveness
from finops.worker.liveness import Scheduler, note_worker
from finops.worker.queues import QUEUES
from tests.broker import messages_in_redis
from tests.servers import free_port

NO_WORKER = {"worker": "failed", "beat": "failed"}


@pytest.fixture(autouse=True)
def var(settings: Settings, tmp_path: Path) -> Path:
    """Of an installation whose worker has not run yet."""
    settings.VAR_DIR = tmp_path
    return tmp_path


@pytest.fixture
def redis(settings: Settings) -> Iterator[None]:
    with messages_in_redis(settings):
        yield


def test_healthz_answers_without_a_database(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok")


@pytest.mark.django_db
def test_readyz_names_each_check(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    checks = {"database": "ok", "migrations": "ok", "lake": "ok", **NO_WORKER}
    assert answer.json() == {"ready": True, "checks": checks}


def test_without_its_database_it_is_not_ready(client: Client) -> None:
    """pytest-django refuses the connection here, as a database that is down does."""
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {
        "database": "failed",
        "migrations": "failed",
        "lake": "ok",
        **NO_WORKER,
    }


@pytest.mark.django_db
def test_with_a_migration_missing_it_is_not_ready(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="accounts").order_by("-id")[:1].get().delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["migrations"] == "failed"


@pytest.mark.django_db
def test_a_lake_that_cannot_be_written_is_named_without_saying_where_and_pushes_still_come(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    in_the_way = tmp_path / "secret-place"
    in_the_way.write_text("a file where the lake's folder should be")
    settings.LAKE_URL = str(in_the_way)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["checks"] == {
        "database": "ok",
        "migrations": "ok",
        "lake": "failed",
        **NO_WORKER,
    }
    assert b"secret-place" not in answer.content


@pytest.mark.django_db
def test_asking_leaves_nothing_in_the_lake(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.LAKE_URL = str(tmp_path / "lake")
    assert client.get("/readyz").status_code == 200
    assert list((tmp_path / "lake").iterdir()) == []


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.django_db
def test_a_probe_may_name_the_machine_by_any_address(client: Client, path: str) -> None:
    assert client.get(path, headers={"host": "10.1.2.3:8000"}).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_only_read(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405


def test_answers_are_not_cached(client: Client) -> None:
    assert "no-store" in client.get("/healthz").headers["Cache-Control"]


@pytest.mark.django_db
def test_worker_and_beat_are_alive_for_a_minute_after_their_last_note(
    client: Client, redis: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for queue in QUEUES:
        note_worker.apply(routing_key=queue)
    checks = client.get("/readyz").json()["checks"]
    assert (checks["worker"], checks["beat"]) == ("ok", "failed")

    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    liveness.note(liveness.BEAT)
    answer = client.get("/readyz")
    assert (answer.json()["checks"]["worker"], answer.json()["checks"]["beat"]) == ("failed", "ok")
    assert answer.status_code == 200


def test_a_tick_of_beat_notes_it(redis: None, var: Path) -> None:
    beat = Scheduler(app=app, schedule_filename=str(var / "schedule"), lazy=True)
    beat.setup_schedule()
    beat.schedule.clear()
    assert beat.tick() <= liveness.NOTE_SECONDS
    assert liveness.is_alive(liveness.BEAT)


def test_beat_without_redis_says_what_is_missing(var: Path) -> None:
    beat = Scheduler(app=app, schedule_filename=str(var / "schedule"), lazy=True)
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL is not set"):
        beat.setup_schedule()


@pytest.mark.django_db
def test_redis_is_a_check_where_it_is_used_and_away_is_no_reason_to_send_no_requests(
    client: Client, settings: Settings
) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    liveness._redis.cache_clear()
    try:
        answer = client.get("/readyz")
    finally:
        liveness._redis.cache_clear()
    assert answer.status_code == 200
    assert answer.json()["checks"] == {
        "database": "ok",
        "migrations": "ok",
        "lake": "ok",
        "redis": "failed",
        **NO_WORKER,
    }
