"""Looks in a process of their own: one that never ends, or answers without end, is ended whatever the transport."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from finops.connections import services
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection, CostSync
from finops.connections.services import source_listings
from tests.cast import ACTOR, Cast
from tests.finops.connections.syncs.endless_sources import ASK, EndlessSources, endless_server
from tests.finops.connections.syncs.month_folders import NAME, MonthFolders
from tests.finops.connections.syncs.sync_steps import write_month
from tests.waiting import threads, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def ask(
    connection: CostConnection,
    month_folders: type[MonthFolders],
    export: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str, str], None]:
    """Says which server the next listing asks, by which transport."""
    monkeypatch.setitem(connectors(), NAME, EndlessSources())
    monkeypatch.setattr(source_listings, "ANSWER_SECONDS", 0.5)

    def write(transport: str, url: str) -> None:
        (export.parent / "script").write_text(json.dumps([transport, url]))

    return write


def list_in_child(connection: CostConnection) -> CostSync:
    sync = CostSync.objects.filter(connection=connection, status="queued").first()
    sync = sync or services.queue_sync(connection=connection, actor=ACTOR)
    assert not services.check_for_changes(sync.pk, in_child=True)
    sync.refresh_from_db()
    return sync


def answers() -> list[Path]:
    return list((Path(django_settings.VAR_DIR) / "uploads").glob("*.listing"))


@pytest.mark.parametrize("transport", ASK)
def test_a_listing_whose_answer_never_ends_is_ended_in_its_time(
    connection: CostConnection, ask: Callable[[str, str], None], settings: Settings, transport: str
) -> None:
    settings.SYNC_LOOK_SECONDS = 2.0
    with endless_server("drip") as url:
        ask(transport, url)
        begin = time.monotonic()
        sync = list_in_child(connection)
    assert sync.status == "failed"
    assert sync.error.startswith("Listing the months took longer than 0.0333333 minutes")
    assert time.monotonic() - begin < 30  # 2.5 s, on a machine that has nothing else to do
    assert answers() == []


@pytest.mark.parametrize(
    ("transport", "error"),
    [
        ("api", "Vendor answered with more than 32 MB at once, the limit."),
        ("azure", "Azure Storage answered with more than the 33,554,432 bytes requested."),
        ("google", "Google Cloud Storage answered with more than 32 MB at once, the limit."),
        ("s3", "Listing the months took more than 400 MB of memory"),
    ],
)
def test_a_listing_whose_answer_is_too_large_is_ended(
    connection: CostConnection,
    ask: Callable[[str, str], None],
    settings: Settings,
    transport: str,
    error: str,
) -> None:
    settings.IMPORT_MEMORY_BYTES = 400 << 20
    with endless_server("flood") as url:
        ask(transport, url)
        sync = list_in_child(connection)
    assert sync.status == "failed"
    assert sync.error.startswith(error)


def test_a_person_who_cancels_ends_a_listing(
    cast: Cast, connection: CostConnection, ask: Callable[[str, str], None]
) -> None:
    sync = CostSync.objects.get()
    with endless_server("drip") as url, threads(1) as call:
        ask("api", url)
        running = call(services.check_for_changes, sync.pk, in_child=True)
        wait_until(
            lambda: CostSync.objects.filter(status="running").exists(),
            "the listing did not begin",
            pause=0.05,
        )
        services.cancel_sync(sync=sync, actor=cast.actor)
        assert not running.result(60)
    sync.refresh_from_db()
    assert (sync.status, answers()) == ("canceled", [])


def test_a_listing_says_what_the_provider_has_without_reading_it(
    connection: CostConnection, month_folders: type[MonthFolders], export: Path
) -> None:
    write_month(export, "2026-05", "1")
    sync = CostSync.objects.get()
    assert services.check_for_changes(sync.pk, in_child=True)
    sync.refresh_from_db()
    assert (sync.status, sync.months_listed) == ("queued", 1)
    assert month_folders.calls["months"] == 0  # here
