"""Data health names sources of change events as it names those of usage: last event, last sync, what fails and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.change_events.services.keys import revoke_event_key
from finops.connections import services
from finops.connections.models import CostConnection
from finops.insights.connection_health import ConnectionHealth
from finops.insights.data_health import HealthAnswer, data_health
from finops.lib import clock
from tests.cast import ACTOR, Cast
from tests.factories.days import NOON
from tests.finops.change_events.event_client import create_event_client, event
from tests.finops.connections.change_events.test_folder_events import connect, sync, write
from tests.finops.connections.change_events.test_folder_events import event as line
from tests.mcpserver.mcp_client import McpClient, mint

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    settings.CONNECTION_FOLDERS = [str(tmp_path)]
    events = tmp_path / "events"
    events.mkdir()
    with clock.frozen(NOON):
        yield events


def answer_of(cast: Cast) -> HealthAnswer:
    with account_scope(cast.account):
        return data_health(cast.account)


def health(cast: Cast) -> ConnectionHealth:
    (row,) = [each for each in answer_of(cast).connections if each.kind == "events"]
    return row


def create_pull(cast: Cast, folder: Path) -> CostConnection:
    write(folder, "2026-03", line(1, "2026-03-10"), line(2, "2026-03-18"))
    connection = connect(cast, folder)
    assert sync(cast, connection).status == "done"
    return connection


def test_a_pull_that_is_well_says_its_last_event_and_its_next_sync(cast: Cast, folder: Path) -> None:
    connection = create_pull(cast, folder)

    well = health(cast)
    assert (well.name, well.status, well.what_to_do) == ("Deliveries", "healthy", "")
    assert well.reason == "Its last event was at 2026-03-18 10:00 UTC."
    assert str(well.data_through) == "2026-03-18"
    assert well.last_success_at == connection.last_success_at
    due = connection.next_sync_at
    assert well.expected_reason.startswith(f"Next sync on {due:%Y-%m-%d %H:%M} UTC.")
    assert well.page == f"connections/events/{connection.target_id}/"


def test_a_pull_that_fails_is_named_with_its_error_and_what_to_do(cast: Cast, folder: Path) -> None:
    connection = create_pull(cast, folder)
    folder.rename(folder.with_name("gone"))
    sync(cast, connection)

    answer, failing = answer_of(cast), health(cast)
    assert (failing.status, failing.what_to_do) == ("failing", "Fix the last error, then sync again.")
    assert failing.reason.startswith("Syncs have failed since 2026-03-20 12:00 UTC. Existing data is kept.")
    assert "does not exist on this server" in failing.last_error
    assert "'Deliveries' (failing)" in answer.summary
    assert any(each.startswith("Event source 'Deliveries' is failing") for each in answer.warnings)
    assert "'Deliveries' (failing)" in McpClient(mint(cast)).ask("getDataHealth")["summary"]
    page = Client()
    page.force_login(cast.member)
    html = page.get(f"/a/{cast.account.slug}/connections/health/").content.decode()
    assert "does not exist on this server" in html
    assert f"/connections/events/{connection.target_id}/" in html


def test_a_pull_that_no_worker_takes_is_overdue(cast: Cast, folder: Path) -> None:
    connection = create_pull(cast, folder)

    with clock.frozen(connection.next_sync_at + timedelta(minutes=29)):
        assert not health(cast).overdue
    with clock.frozen(connection.next_sync_at + timedelta(minutes=31)):
        late, summary = health(cast), answer_of(cast).summary

    assert (late.overdue, late.status) == (True, "healthy")
    assert f"A sync has been due since {connection.next_sync_at:%Y-%m-%d %H:%M} UTC." in late.reason
    assert late.what_to_do == "Ask the operator of this server to check that workers run."
    assert "'Deliveries' (overdue)" in summary


def test_a_pull_that_is_paused_or_found_nothing_says_so(cast: Cast, folder: Path) -> None:
    connection = connect(cast, folder)
    assert health(cast).status == "importing"

    sync(cast, connection)
    empty = health(cast)
    assert (empty.status, empty.reason) == ("no_data", "No events found yet.")

    with account_scope(cast.account):
        services.pause_connection(connection=connection, actor=ACTOR)
    assert "Syncs have been paused since 2026-03-20 12:00 UTC." in health(cast).reason


def test_a_source_that_pushes_says_what_it_needs(cast: Cast, folder: Path) -> None:
    event_client = create_event_client(cast)
    assert (health(cast).status, health(cast).what_to_do) == ("no_data", "Push the first event.")

    event_client.push({"kind": "deployment"})
    failing = health(cast)
    assert (failing.status, failing.reason) == (
        "failing",
        "The only event received this month was rejected.",
    )
    assert failing.what_to_do == "Read the reasons in the answers to your pushes."

    event_client.push(
        event(occurred_at="2026-03-20T09:00:00Z"), event(title="", occurred_at="2026-03-20T09:00:00Z")
    )
    well = health(cast)
    assert (well.status, well.overdue, well.expected_reason) == (
        "healthy",
        False,
        "Change events have no schedule.",
    )
    assert well.reason == (
        "Its last event was at 2026-03-20 09:00 UTC. 2 of the 3 events received this month were rejected."
    )
    with clock.frozen(NOON + timedelta(days=90)):
        assert not health(cast).overdue

    with account_scope(cast.account):
        revoke_event_key(source=event_client.source, actor=cast.actor)
    stale = health(cast)
    assert (stale.status, stale.what_to_do) == ("stale", "Create an API key to continue.")
