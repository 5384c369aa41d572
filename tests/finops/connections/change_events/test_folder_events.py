"""Change events from files in a folder of this server: valid events, rejected events with their reasons, and a
second sync."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.connections import services
from finops.connections.connectors import connector_of
from finops.connections.connectors.folder_events import EventFolderConfig
from finops.connections.models import CostConnection
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.change_events.code_hosts import metered_count, titles
from tests.finops.connections.syncs.sync_steps import actions, sync_now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    settings.CONNECTION_FOLDERS = [str(tmp_path)]
    with clock.frozen(NOON):
        yield tmp_path


def event(number: int, day: str, **more: Any) -> str:
    fields = {
        "event_id": f"e{number}",
        "occurred_at": f"{day}T10:00:00Z",
        "kind": "change",
        "title": f"Event {number}",
    }
    return json.dumps(fields | more)


def write(folder: Path, month: str, *lines: str) -> None:
    (folder / f"{month}.jsonl").write_text("\n".join(lines) + "\n")


def connect(cast: Cast, folder: Path) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Deliveries",
        connector="folder_events",
        values={"folder": str(folder)},
    )


def sync(cast: Cast, connection: CostConnection) -> Any:
    with account_scope(cast.account):
        return sync_now(connection)


def test_events_of_each_month_are_stored_once_and_follow_their_file(cast: Cast, folder: Path) -> None:
    write(folder, "2026-02", event(1, "2026-02-10", scope={"service": "Amazon EC2"}))
    write(folder, "2026-03", event(2, "2026-03-01"), event(3, "2026-03-02"))
    connection = connect(cast, folder)

    assert sync(cast, connection).status == "done"
    assert titles(cast) == ["Event 1", "Event 2", "Event 3"]
    with account_scope(cast.account):
        assert ChangeEvent.objects.get(external_id="e1").scope == {"service": ["Amazon EC2"]}
    assert set(actions(sync(cast, connection)).values()) == {"unchanged"}

    write(folder, "2026-03", event(3, "2026-03-02", title="Event 3 failed"))
    assert actions(sync(cast, connection)) == {"2026-02": "unchanged", "2026-03": "imported"}
    assert (titles(cast), metered_count(cast)) == (["Event 1", "Event 3 failed"], 2)


def test_lines_that_would_not_be_found_again_are_left_out_and_said(cast: Cast, folder: Path) -> None:
    write(
        folder,
        "2026-03",
        event(1, "2026-03-01"),
        event(2, "2026-02-01"),
        event(3, "2026-03-01", event_id=None),
        "[]",
        "not JSON",
        "",
        event(4, "2026-03-01", kind="deploy"),
    )
    sync_run = sync(cast, connect(cast, folder))

    assert titles(cast) == ["Event 1"]
    text = " ".join(each["note"] for each in sync_run.periods)
    assert "4 lines were left out" in text
    assert "kind must be one of" in text


def test_a_test_of_the_connection_reads_an_event(folder: Path) -> None:
    connector, config = connector_of("folder_events"), EventFolderConfig(folder=str(folder))

    assert not connector.check(config)[-1].is_ok
    write(folder, "2026-03", "nothing")
    assert "No line is an event" in connector.check(config)[-1].fix
    write(folder, "2026-03", event(1, "2026-03-01"))
    assert all(each.is_ok for each in connector.check(config))
    with pytest.raises(ValueError, match="Mark the month"):
        EventFolderConfig(folder=str(folder), pattern="*.jsonl")
