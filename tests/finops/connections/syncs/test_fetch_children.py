"""Fetches in a process of their own: they end when they hang, when a person cancels, and when they take too much."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection, CostSync
from finops.costs.services import delete_cost_source
from finops.lib import clock
from tests.cast import ACTOR, Cast
from tests.factories.imports import total
from tests.finops.connections.syncs.month_folders import NAME, MonthFolders
from tests.finops.connections.syncs.scripted_folders import ScriptedFolders
from tests.finops.connections.syncs.sync_steps import actions, sync_now, write_month
from tests.waiting import threads, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scripted_connection(
    connection: CostConnection,
    month_folders: type[MonthFolders],
    export: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], None]:
    """Says what the next fetches do."""
    monkeypatch.setitem(connectors(), NAME, ScriptedFolders())
    write_month(export, "2026-05", "1", "2")
    return lambda script: write_script(export.parent, script)


def write_script(folder: Path, script: str) -> None:
    (folder / "script").write_text(script)


def sync_in_child(connection: CostConnection) -> CostSync:
    sync = CostSync.objects.filter(connection=connection, status="queued").first()
    sync = sync or services.queue_sync(connection=connection, actor=ACTOR)
    assert services.run_sync(sync.pk, in_child=True)
    sync.refresh_from_db()
    return sync


def leftovers() -> list[Path]:
    return list((Path(django_settings.VAR_DIR) / "uploads").glob("sync-*"))


def is_alive(export: Path) -> bool:
    """Whether the process of the fetch still is."""
    try:
        os.kill(int((export.parent / "fetched").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


def test_files_notes_and_bytes_come_back_from_the_process(
    cast: Cast, connection: CostConnection, export: Path, scripted_connection: Callable[[str], None]
) -> None:
    sync = sync_in_child(connection)
    assert (sync.status, actions(sync), total(cast.account)) == ("done", {"2026-05": "imported"}, Decimal(3))
    assert int((export.parent / "fetched").read_text()) != os.getpid()
    assert "Fetched in a process of its own." in sync.periods[0]["note"]
    assert (sync.bytes_done, leftovers()) == (sync.bytes_total, [])


@pytest.mark.slow
def test_a_fetch_that_no_byte_comes_for_is_ended_and_the_next_sync_tries_again(
    cast: Cast,
    connection: CostConnection,
    export: Path,
    scripted_connection: Callable[[str], None],
    settings: Settings,
) -> None:
    settings.SYNC_STALL_SECONDS = 1.5
    scripted_connection("hang")

    sync = sync_in_child(connection)

    assert sync.status == "failed"
    assert sync.error.startswith(
        "2026-05: No data arrived for 0.025 minutes, so the fetch was stopped. The next sync tries"
    )
    assert (is_alive(export), leftovers(), total(cast.account)) == (False, [], None)
    connection.refresh_from_db()
    assert (connection.failures, connection.next_sync_at > clock.now()) == (1, True)

    (export.parent / "script").unlink()
    assert sync_in_child(connection).status == "done"
    assert total(cast.account) == Decimal(3)


def test_a_fetch_ends_with_the_time_of_its_sync(
    connection: CostConnection, export: Path, scripted_connection: Callable[[str], None], settings: Settings
) -> None:
    settings.JOB_MAX_SECONDS = 2
    scripted_connection("hang")
    sync = sync_in_child(connection)
    assert sync.error.startswith("The sync exceeded the time limit.")
    assert (is_alive(export), leftovers()) == (False, [])


@pytest.mark.parametrize("end", ["cancel", "delete"])
def test_canceling_and_deleting_end_a_fetch_that_hangs(
    cast: Cast, connection: CostConnection, export: Path, scripted_connection: Callable[[str], None], end: str
) -> None:
    scripted_connection("hang")
    sync = CostSync.objects.get()
    with threads(1) as call:
        running = call(services.run_sync, sync.pk, in_child=True)
        wait_until((export.parent / "fetched").exists, "the fetch did not begin", pause=0.05)
        begin = time.monotonic()
        if end == "cancel":
            services.cancel_sync(sync=sync, actor=cast.actor)
        else:
            delete_cost_source(source=connection.cost_source, actor=cast.actor)
        assert running.result(60)
    assert time.monotonic() - begin < 30  # a second, on a machine that has nothing else to do
    assert (is_alive(export), leftovers()) == (False, [])
    assert [each.status for each in CostSync.objects.all()] == (["canceled"] if end == "cancel" else [])


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("die", "2026-05: The fetch process stopped (signal 9). The next sync tries again."),
        ("fill disk", "2026-05: The disk of this server is full."),
        ("refuse", "2026-05: The key has ended. Enter a new one."),
        ("change", "2026-05: The files changed during three reads."),
        ("break", "2026-05: The sync of this month failed with an internal error; existing data is kept."),
    ],
)
def test_an_error_in_the_process_is_reported(
    cast: Cast,
    connection: CostConnection,
    scripted_connection: Callable[[str], None],
    script: str,
    error: str,
) -> None:
    scripted_connection(script)
    sync = sync_in_child(connection)
    assert sync.status == "failed"
    assert sync.error.startswith(error)
    assert (total(cast.account), leftovers()) == (None, [])


def test_a_process_that_dies_once_is_begun_again(
    cast: Cast, connection: CostConnection, scripted_connection: Callable[[str], None]
) -> None:
    scripted_connection("die once")
    assert sync_in_child(connection).status == "done"
    assert total(cast.account) == Decimal(3)


def test_a_fetch_that_takes_memory_without_end_is_ended(
    connection: CostConnection, scripted_connection: Callable[[str], None], settings: Settings
) -> None:
    settings.IMPORT_MEMORY_BYTES = 400 << 20
    scripted_connection("take memory")
    assert "more than 400 MB of memory" in sync_in_child(connection).error


def test_a_retry_delay_of_the_vendor_is_returned_by_the_process(
    connection: CostConnection, scripted_connection: Callable[[str], None]
) -> None:
    connection.interval_minutes = 15
    connection.save()
    scripted_connection("wait an hour")
    sync_in_child(connection)
    connection.refresh_from_db()
    assert (connection.next_sync_at - clock.now()).total_seconds() > 3_500


def test_a_listing_that_takes_too_long_is_ended(cast: Cast, tmp_path: Path, settings: Settings) -> None:
    """By the real connector of folders: the limit is looked at between two pages of a listing."""
    (tmp_path / "2026-05").mkdir()
    settings.CONNECTION_FOLDERS = [str(tmp_path)]
    settings.SYNC_LOOK_SECONDS = 0
    values = {"folder": str(tmp_path), "pattern": "{year}-{month}/*.csv"}
    connection = services.create_connection(
        account=cast.account, actor=cast.actor, name="Files", connector="folder", values=values
    )
    with account_scope(cast.account):
        sync = sync_now(connection)
    assert sync.error.startswith("Listing the months took longer than 0 minutes and was stopped.")
