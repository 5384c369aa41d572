"""Data health of sources whose files are fetched."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from finops.connections import services
from finops.connections.models import CostConnection
from finops.costs.models import CostImport
from finops.insights.connection_health import ConnectionHealth
from finops.insights.data_health import data_health
from finops.lib import clock
from tests.cast import Cast
from tests.finops.connections.syncs.sync_steps import sync_now, write_month

pytestmark = pytest.mark.django_db


def health(cast: Cast) -> ConnectionHealth:
    (each,) = data_health(cast.account).connections
    return each


def this_month() -> str:
    return f"{clock.today():%Y-%m}"


def test_a_source_whose_first_sync_waits_is_importing(cast: Cast, connection: CostConnection) -> None:
    each = health(cast)
    assert (each.status, each.reason, each.what_to_do) == ("importing", "The first sync is running.", "")


def test_a_source_without_a_line_says_so(cast: Cast, connection: CostConnection) -> None:
    sync_now(connection)
    each = health(cast)
    assert (each.status, each.reason) == ("no_data", "No cost lines found yet.")


def test_a_synced_source_says_when_it_is_synced_next(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)

    each = health(cast)

    assert each.last_success_at == connection.last_success_at
    assert each.expected_by is None
    assert each.expected_reason.startswith(f"Next sync on {connection.next_sync_at:%Y-%m-%d %H:%M} UTC.")


def test_data_is_expected_by_its_rhythm_and_no_sooner_than_the_next_sync(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, this_month(), "1")
    for days in (3, 2, 1):
        write_month(export, this_month(), *["1"] * (days + 1))
        sync_now(connection)
        newest = CostImport.objects.latest("pk")
        CostImport.objects.filter(pk=newest.pk).update(finished_at=clock.now() - timedelta(days=days))
    assert health(cast).expected_by is not None
    later = clock.now() + timedelta(days=7)
    CostConnection.objects.update(next_sync_at=later)
    assert health(cast).expected_by == later


def test_failing_syncs_say_why_and_since_when(cast: Cast, connection: CostConnection, export: Path) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)
    for path in export.rglob("*.csv"):
        path.unlink()
    (export / this_month()).rmdir()
    export.rmdir()
    sync = sync_now(connection)

    each = health(cast)

    assert each.status == "failing"
    assert each.last_error == sync.error
    assert each.reason == (
        f"Syncs have failed since {connection.failing_since:%Y-%m-%d %H:%M} UTC. Existing data is kept."
        f" Last error: {sync.error}"
    )
    assert each.what_to_do == "Fix the last error, then sync again."

    export.mkdir()
    write_month(export, this_month(), "1")
    sync_now(connection)
    assert health(cast).status != "failing"


def test_a_paused_source_is_not_waited_for(cast: Cast, connection: CostConnection, export: Path) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)
    services.pause_connection(connection=connection, actor=cast.actor)

    each = health(cast)

    assert (each.expected_by, each.overdue) == (None, False)
    assert each.what_to_do == "Resume syncs on its page."
