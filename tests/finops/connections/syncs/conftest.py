from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection
from tests.cast import Cast
from tests.finops.connections.syncs.month_folders import NAME, MonthFolders


@pytest.fixture
def month_folders(monkeypatch: pytest.MonkeyPatch) -> type[MonthFolders]:
    """The connector of local folders, known by its name; nothing happens while it reads unless a test says so."""
    monkeypatch.setitem(connectors(), NAME, MonthFolders())
    monkeypatch.setattr(MonthFolders, "on_list", lambda: None)
    monkeypatch.setattr(MonthFolders, "on_fetch", lambda _month: None)
    MonthFolders.calls.clear()
    MonthFolders.seen.clear()
    return MonthFolders


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """What a provider has written: a folder for each month."""
    folder = tmp_path / "export"
    folder.mkdir()
    return folder


@pytest.fixture
def connection(cast: Cast, month_folders: type[MonthFolders], export: Path) -> Iterator[CostConnection]:
    """A connection of Acme to `export`, in scope; its first sync waits."""
    row = services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Bills",
        connector=NAME,
        values={"folder": str(export), "password": "hunter2 and more"},
    )
    with account_scope(cast.account):
        yield row
