"""Syncs and what goes wrong around them: disks, permissions, sources that go away, workers that die."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from accounts.models import Account
from accounts.services.deletion import delete_account
from finops.connections import services
from finops.connections.connector import AccessError
from finops.connections.models import CostConnection, CostSync, SyncPeriod
from finops.costs.models import CostImport, CostSource
from finops.costs.services import delete_cost_source
from finops.lake.models import LakeSegment
from finops.lib import clock
from tests.cast import Cast
from tests.factories.imports import cost_by, total
from tests.finops.connections.syncs.month_folders import MonthFolders
from tests.finops.connections.syncs.sync_steps import actions, sync_now, write_month
from tests.waiting import threads

pytestmark = pytest.mark.django_db(transaction=True)


def leftovers() -> list[Path]:
    return list((Path(django_settings.VAR_DIR) / "uploads").glob("sync-*"))


def billed_by_month(cast: Cast) -> dict[str | None, Decimal]:
    return {month: sums[0] for month, sums in cost_by(cast.account, "billing_period").items()}


def test_a_source_deleted_during_a_sync_leaves_nothing(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")
    month_folders.on_fetch = lambda _month: delete_cost_source(
        source=connection.cost_source, actor=cast.actor
    )

    assert services.run_sync(CostSync.objects.get().pk)

    assert not any(model.objects.exists() for model in (CostSource, CostSync, SyncPeriod, CostImport))
    assert (total(cast.account), leftovers()) == (None, [])


def test_an_account_deleted_during_a_sync_leaves_nothing(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")

    def delete(_month: object) -> None:
        Account.objects.filter(pk=cast.account.pk).update(delete_after=clock.now())
        assert delete_account(account_id=cast.account.pk)

    month_folders.on_fetch = delete

    assert services.run_sync(CostSync.objects.get().pk)

    assert not CostSync.objects.unscoped().exists()
    assert not LakeSegment.objects.unscoped().filter(retired_at=None).exists()
    assert leftovers() == []


def test_a_sync_waits_while_there_is_little_disk_space(
    connection: CostConnection, export: Path, settings: Settings
) -> None:
    settings.LOW_DISK_BYTES = 10**18
    sync = CostSync.objects.get()
    assert not services.run_sync(sync.pk)
    sync.refresh_from_db()
    assert sync.status == "queued"


def test_a_disk_that_fills_during_a_sync_fails_the_month_and_leaves_what_was(
    cast: Cast,
    connection: CostConnection,
    export: Path,
    month_folders: type[MonthFolders],
    settings: Settings,
) -> None:
    write_month(export, "2026-05", "1")
    sync_now(connection)
    write_month(export, "2026-05", "2", "2")

    def fill(_month: object) -> None:
        settings.LOW_DISK_BYTES = 10**18

    month_folders.on_fetch = fill
    sync = sync_now(connection)
    assert (sync.status, "of disk space left" in sync.error) == ("failed", True)
    assert (billed_by_month(cast), leftovers()) == ({"2026-05": Decimal(1)}, [])

    settings.LOW_DISK_BYTES = 0
    month_folders.on_fetch = lambda _month: None
    assert sync_now(connection).status == "done"
    assert billed_by_month(cast) == {"2026-05": Decimal(4)}


def test_no_space_left_is_said_in_a_sentence(
    connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")

    def fail_with_full_disk(_month: object) -> None:
        raise OSError(28, "No space left on device")

    month_folders.on_fetch = fail_with_full_disk
    sync = sync_now(connection)
    assert sync.error.startswith("2026-05: The disk of this server is full.")


def test_a_permission_taken_away_is_named_and_nothing_is_lost(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    part = write_month(export, "2026-05", "1")
    sync_now(connection)
    write_month(export, "2026-05", "2", "2")

    def refuse(_month: object) -> None:
        raise AccessError(f"{part.name} cannot be read. Allow reading it.")

    month_folders.on_fetch = refuse
    sync = sync_now(connection)
    assert sync.error == "2026-05: part-1.csv cannot be read. Allow reading it."
    assert billed_by_month(cast) == {"2026-05": Decimal(1)}


def test_files_that_come_after_their_listing_are_read_by_the_next_sync(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    """The manifest first and the files later: the folder of the month is there, and empty."""
    write_month(export, "2026-04", "1")
    (export / "2026-05").mkdir()
    assert actions(sync_now(connection)) == {"2026-05": "emptied", "2026-04": "imported"}
    write_month(export, "2026-05", "3")
    assert actions(sync_now(connection)) == {"2026-05": "imported", "2026-04": "unchanged"}
    assert billed_by_month(cast) == {"2026-04": Decimal(1), "2026-05": Decimal(3)}


def test_a_sync_that_takes_too_long_is_stopped_and_the_next_continues(
    cast: Cast,
    connection: CostConnection,
    export: Path,
    month_folders: type[MonthFolders],
    settings: Settings,
) -> None:
    write_month(export, "2026-04", "1")
    write_month(export, "2026-05", "1")
    settings.JOB_MAX_SECONDS = 3_600

    def wait(_month: object) -> None:
        if month_folders.calls["fetch"] == 2:
            patched.setattr("finops.connections.services.sync_heartbeat.time.monotonic", lambda: 10.0**12)

    month_folders.on_fetch = wait
    with pytest.MonkeyPatch.context() as patched:
        sync = sync_now(connection)
    assert (sync.status, actions(sync)) == ("failed", {"2026-05": "imported"})
    assert sync.error.startswith("The sync exceeded the time limit.")
    assert actions(sync_now(connection)) == {"2026-05": "unchanged", "2026-04": "imported"}


def test_a_person_who_cancels_an_import_of_a_sync_fails_that_month(
    cast: Cast, connection: CostConnection, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_month(export, "2026-05", "1")
    monkeypatch.setattr(
        "finops.connections.services.sync_heartbeat.SyncHeartbeat.importing",
        lambda _self, job: CostImport.objects.filter(pk=job.pk).update(cancel_requested_at=clock.now()),
    )
    monkeypatch.setattr("finops.costs.services.import_reading.UPDATE_SECONDS", -1)
    sync = sync_now(connection)
    assert sync.error == "2026-05: The import was canceled. The next sync reads the month again."


def test_two_concurrent_workers_do_a_sync_once(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")
    pk, both = CostSync.objects.get().pk, threading.Barrier(2, timeout=60)
    results: list[bool] = []

    def wait_for_second(_month: object) -> None:
        both.wait()
        both.wait()

    month_folders.on_fetch = wait_for_second
    with threads(2) as call:
        first = call(services.run_sync, pk)
        both.wait()
        results.append(call(services.run_sync, pk).result())
        both.wait()
        results.append(first.result())

    assert results == [False, True]
    assert (CostImport.objects.count(), total(cast.account)) == (1, Decimal(1))


def test_a_sync_that_another_process_took_up_leaves_no_effect(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    """As when the connection that holds the lock breaks while the process lives on."""
    write_month(export, "2026-05", "1")
    month_folders.on_fetch = lambda _month: CostSync.objects.update(attempts=7)

    sync = CostSync.objects.get()
    assert services.run_sync(sync.pk)

    sync.refresh_from_db()
    assert (sync.status, sync.attempts) == ("running", 7)
    assert not SyncPeriod.objects.exists()
    assert total(cast.account) is None


def test_a_sync_that_takes_down_its_worker_again_and_again_fails(
    connection: CostConnection, export: Path
) -> None:
    CostSync.objects.update(status="running", attempts=6)
    sync = CostSync.objects.get()
    assert services.run_sync(sync.pk)
    sync.refresh_from_db()
    assert (sync.status, sync.error.startswith("The sync was interrupted too often")) == (
        "failed",
        True,
    )
