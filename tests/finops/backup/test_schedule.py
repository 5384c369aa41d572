"""Backups on schedule: when one is due, what is recorded of it, and who sees that one failed."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from finops.backup import runs, tasks
from finops.backup.encryption import encryption_of
from finops.backup.errors import BackupError
from finops.backup.models import BackupRun
from finops.backup.queries import backup_status, is_backup_due
from finops.backup.services import LOCK, backup_ids
from finops.backup.targets import open_target, target_name
from finops.checks import check_backups
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.operations.queries import service_status
from finops.operations.tiles import Tile, tiles
from finops.telemetry.collector import samples
from tests.finops.backup.machine import empty_machine, run

pytestmark = pytest.mark.django_db

HERE = "tests.finops.backup.machine"


@pytest.fixture
def target(settings: Settings, tmp_path: Path) -> str:
    settings.BACKUP_TARGET = str(tmp_path / "target")
    return str(settings.BACKUP_TARGET)


def add_run(target: str, hours_ago: float, status: str = "done", **values: Any) -> BackupRun:
    started_at = clock.now() - timedelta(hours=hours_ago)
    return BackupRun.objects.create(
        target=target, trigger="schedule", status=status, started_at=started_at, **values
    )


def tile() -> Tile:
    return next(each for each in tiles(service_status()) if each.label == "Last backup")


@pytest.mark.slow
def test_a_backup_is_taken_when_it_is_due_and_older_ones_go(django_db_setup: None, tmp_path: Path) -> None:
    target = str(tmp_path / "target")
    with empty_machine({"BACKUP_TARGET": target, "BACKUP_KEEP": "2"}) as machine:
        machine.run(f"{HERE}:company")
        machine.run(f"{HERE}:add_interrupted_run")
        interrupted = ["failed", "schedule", runs.INTERRUPTED]
        done = ["done", "schedule", ""]

        assert machine.run(f"{HERE}:scheduled_runs") == [interrupted, done]
        assert machine.run(f"{HERE}:scheduled_runs") == [interrupted, done], "redelivered"
        assert machine.run(f"{HERE}:scheduled_runs", 25) == [interrupted, done, done]
        assert run(machine, "backup")[0] == 0
        assert machine.run(f"{HERE}:backup_runs")[-1] == ["done", "command", ""]
        assert len(backup_ids(open_target(target))) == 3, "the command removes none by itself"
        machine.run(f"{HERE}:scheduled_runs", 50)
        assert len(backup_ids(open_target(target))) == 2


@pytest.mark.slow
def test_a_failure_is_recorded_with_its_reason_and_retried_after_an_hour(
    django_db_setup: None, tmp_path: Path
) -> None:
    target = str(tmp_path / "target")
    with empty_machine({"BACKUP_TARGET": target, "BACKUP_KEY": "no key"}) as machine:
        ((status, _trigger, error),) = machine.run(f"{HERE}:scheduled_runs")

        assert (status, error.startswith("The backup key must be one line")) == ("failed", True)
        assert len(machine.run(f"{HERE}:scheduled_runs")) == 1
        assert len(machine.run(f"{HERE}:scheduled_runs", 2)) == 2


def test_a_failure_is_an_error_of_the_log_a_red_tile_and_a_metric(
    target: str, caplog: pytest.LogCaptureFixture, operator: Client
) -> None:
    def refuse() -> Any:
        raise BackupError("s3://backups refused the credentials.")

    with pytest.raises(BackupError):
        runs.run_backup(
            target=target, open_backup=refuse, trigger=BackupRun.Trigger.SCHEDULE, keep=1, progress=print
        )

    assert [each.levelno for each in caplog.records if "refused the credentials" in each.message] == [
        logging.ERROR
    ]
    assert (tile().figure, tile().is_bad) == ("None", True)
    assert {name: value for name, _label, value in samples()}["backup_runs_failed"] == 1
    assert "refused the credentials" in operator.get(tile().href).content.decode()


def test_an_error_that_nobody_expected_is_recorded_without_its_secrets(target: str) -> None:
    def fail() -> Any:
        raise PermissionError("sftp://me:a-long-password@host/ is not writable")  # pragma: allowlist secret

    with pytest.raises(PermissionError):
        runs.run_backup(
            target=target, open_backup=fail, trigger=BackupRun.Trigger.SCHEDULE, keep=1, progress=print
        )

    assert BackupRun.objects.get().error == "PermissionError: sftp://[hidden]@host/ is not writable"


def test_a_run_that_meets_another_records_nothing(target: str) -> None:
    ready, end = threading.Event(), threading.Event()

    def other() -> None:
        with advisory_lock(LOCK):
            ready.set()
            end.wait(30)
        connection.close()

    thread = threading.Thread(target=other)
    thread.start()
    assert ready.wait(30)
    try:
        runs.run_scheduled_backup()
        with pytest.raises(BackupError, match="Another backup is running"):
            runs.run_backup(
                target=target,
                open_backup=lambda: (open_target(target), encryption_of("")),
                trigger=BackupRun.Trigger.COMMAND,
                keep=None,
                progress=print,
            )
    finally:
        end.set()
        thread.join()
    assert not BackupRun.objects.exists()


def test_when_a_backup_is_due(target: str) -> None:
    name = target_name(target)
    assert is_backup_due(name)
    add_run(name, 26)
    add_run("elsewhere", 3)
    assert is_backup_due(name)
    add_run(name, 2, "failed")
    assert is_backup_due(name)
    add_run(name, 0.5, "running")
    assert not is_backup_due(name)
    with clock.frozen(clock.now() + timedelta(hours=2)):
        assert is_backup_due(name)
    add_run(name, 20)
    with clock.frozen(clock.now() + timedelta(hours=2)):
        assert not is_backup_due(name)


def test_a_backup_whose_retention_failed_is_not_due_again(target: str) -> None:
    add_run(target_name(target), 2, "failed", backup_id="20261123T010000")

    assert not is_backup_due(target_name(target))


def test_the_clock_queues_a_backup_that_is_due_and_none_without_a_target(
    target: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(tasks.run, "apply_async", lambda **options: messages.append(options))

    tasks.run_due()
    add_run(target_name(target), 1.5)
    tasks.run_due()
    settings.BACKUP_TARGET = ""
    BackupRun.objects.all().delete()
    tasks.run_due()
    tasks.run()

    assert messages == [{"expires": 600}]
    assert not BackupRun.objects.exists()


def test_the_tile_says_how_old_the_last_complete_backup_is(target: str, settings: Settings) -> None:
    assert (tile().figure, tile().notes, tile().is_bad) == ("None", [], False)
    add_run(target, 30, bytes=2_000_000)
    assert (tile().figure, tile().is_bad) == ("1 day ago", False)
    add_run(target, 2, "incomplete", bytes=1)
    assert (tile().notes, tile().is_bad) == (["2.0 MB", "Last run: incomplete"], True)
    add_run(target, 1, "running")
    assert backup_status().is_bad
    add_run(target, 0.5, bytes=3_000_000)
    assert (tile().notes, tile().is_bad) == (["3.0 MB"], False)
    with clock.frozen(clock.now() + timedelta(hours=49)):
        assert tile().is_bad
        settings.BACKUP_TARGET = ""
        assert (tile().notes, tile().is_bad) == (["3.0 MB", "No schedule"], False)


def test_metrics_say_the_age_of_the_last_complete_backup(target: str) -> None:
    names = {name for name, *_rest in samples()}
    assert names.isdisjoint({"backup_age_seconds", "backup_size_bytes", "backup_runs_failed"})
    add_run(target, 5, "failed")
    add_run(target, 4, bytes=1_000)
    add_run(target, 3, bytes=2_000)
    add_run(target, 2, "incomplete", bytes=9_000)
    values = {name: value for name, _label, value in samples()}
    assert values["backup_age_seconds"] == pytest.approx(3 * 3600, abs=60)
    assert values["backup_size_bytes"] == 2_000
    assert values["backup_runs_failed"] == 1


def test_a_schedule_that_cannot_be_kept_does_not_start(settings: Settings) -> None:
    assert check_backups() == []
    settings.BACKUP_KEEP = 0
    assert [each.id for each in check_backups()] == ["finops.E012"]


def test_the_name_of_a_target_has_no_password() -> None:
    name = target_name("sftp://me:a-long-password@host/x")  # pragma: allowlist secret
    assert name == "sftp://[hidden]@host/x"
    assert target_name("file:///mnt/backups") == target_name("/mnt/backups") == "/mnt/backups"
