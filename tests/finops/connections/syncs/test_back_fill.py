"""The first sync of a source reads as far as there is data, the newest month first, and says honestly how far it is."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from finops.connections.connector import MAX_MONTHS, BillMonth
from finops.connections.models import CostConnection, CostSync
from finops.connections.progress import progress_of
from finops.connections.remaining_time import remaining_time
from finops.costs.models import CostImport
from finops.lib import clock
from finops.lib.periods import add_months
from tests.finops.connections.syncs.month_folders import MonthFolders
from tests.finops.connections.syncs.sync_steps import actions, sync_now, write_month

pytestmark = pytest.mark.django_db

NEWEST = date(2026, 5, 1)


def months_back(count: int) -> list[str]:
    """The newest first."""
    return [f"{add_months(NEWEST, -number):%Y-%m}" for number in range(count)]


def test_every_month_that_there_is_comes_the_newest_first(connection: CostConnection, export: Path) -> None:
    names = months_back(14)
    for name in sorted(names):
        write_month(export, name, "1")

    sync = sync_now(connection)

    assert list(actions(sync)) == names
    assert [job.months[0] for job in CostImport.objects.order_by("pk")] == names


@pytest.mark.slow
def test_ten_years_are_read_of_a_source_that_lists_more(
    connection: CostConnection,
    export: Path,
    month_folders: type[MonthFolders],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = months_back(MAX_MONTHS + 1)
    months = [BillMonth(date.fromisoformat(f"{name}-01"), "known", 1) for name in reversed(names)]
    monkeypatch.setattr(month_folders, "months", lambda _self, _config: months)
    monkeypatch.setattr(month_folders, "month", lambda _self, _config, month: BillMonth(month, "known", 1))
    monkeypatch.setattr(month_folders, "fetch", lambda _self, _config, _month, _fetch: [])
    sync = sync_now(connection)
    assert (sync.months_listed, list(actions(sync))) == (MAX_MONTHS, names[:-1])


def test_bytes_of_a_month_count_by_half_when_they_are_fetched_and_whole_when_they_are_imported(
    connection: CostConnection,
    export: Path,
    month_folders: type[MonthFolders],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("finops.connections.services.sync_heartbeat.UPDATE_SECONDS", -1)
    sizes = {name: write_month(export, name, "1").stat().st_size for name in months_back(3)}
    progress: list[tuple[str, int, int]] = []

    def record_progress(_month: BillMonth) -> None:
        row = CostSync.objects.get()
        progress.append((row.stage, row.bytes_done, row.months_imported))

    month_folders.on_fetch = record_progress
    sync = sync_now(connection)

    newest, middle, oldest = sizes
    assert progress == [
        (f"fetching {newest}", sizes[newest] // 2, 0),
        (f"fetching {middle}", sizes[newest] + sizes[middle] // 2, 1),
        (f"fetching {oldest}", sizes[newest] + sizes[middle] + sizes[oldest] // 2, 2),
    ]
    assert sync.bytes_done == sync.bytes_total == sum(sizes.values())


def test_the_remaining_time_is_estimated_from_the_rate_of_this_sync(connection: CostConnection) -> None:
    now = clock.now()
    sync = CostSync(
        status="running",
        stage="fetching 2026-05",
        started_at=now - timedelta(seconds=60),
        heartbeat_at=now,
        bytes_total=4_000,
        bytes_done=1_000,
    )
    remaining = remaining_time(sync)
    assert remaining is not None
    assert remaining.seconds == 180


def test_months_that_are_not_to_be_read_do_not_count_as_waiting(
    connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    """Known ones, and those before the first month of the connection."""
    write_month(export, "2026-05", "1")
    sync_now(connection)
    CostConnection.objects.update(first_month=date(2026, 3, 1))
    connection.refresh_from_db()
    for name in ("2026-01", "2026-02", "2026-03", "2026-04"):
        write_month(export, name, "1")
    texts: list[str] = []
    month_folders.on_fetch = lambda _month: texts.append(
        progress_of(CostSync.objects.latest("pk"), clock.now()).text
    )

    sync_now(connection)

    assert ["0 of 2 months imported." in texts[0], "1 of 2 months imported." in texts[1]] == [True, True]
