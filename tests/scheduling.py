"""pytest plugin: which tests pytest-xdist gives to one worker, in one row, when `--dist loadgroup` is asked for.

Tests of one `xdist_group` mark, those that share a server, and those of a module that share one of its fixtures: a
server, a chromium, a world starts once and not once in each worker. Groups go out first, those of FIRST and then
those of many tests, so that no worker waits for one at the end.

The scheduler of pytest-xdist 3.8 is handed its groups in test names, which pytest 9.2 no longer lets it change
(pytest-xdist issue 1386): it groups nothing, and says nothing of it. Here they travel in a file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.postgres import RUN_DIR

GROUPS = "groups.json"
# The fixtures that start a server for the whole session, and the group of those who use it.
SHARED = {"live_server_process": "mcp-clients", "oauth_server": "mcp-clients", "console": "browser"}
# Whose parts take longest. "up" needs no database of the run: in a fresh checkout its worker works while the other one
# migrates that database.
FIRST = ("up", "browser", "processes", "query budget")


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """A group is one unit of work; any other test is its own."""

    groups: dict[str, str]

    def schedule(self) -> None:
        if self.collection is None:
            self.groups = json.loads(_file().read_text())
        super().schedule()

    def _assign_work_unit(self, node: Any) -> None:
        if name := next((name for name in FIRST if name in self.workqueue), None):
            self.workqueue.move_to_end(name, last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Without the units that are done: pytest-xdist counts all that a worker ever had, after each test."""
        nodeid = self.registered_collections[node][item_index]
        units, name = self.assigned_work[node], self._split_scope(nodeid)
        units[name][nodeid] = True
        if all(units[name].values()):
            del units[name]
        self._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return self.groups.get(nodeid, nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling | None:
    return GroupScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """In a worker, before it tells that it is ready. All write the same."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return
    found = {item.nodeid: group for item in session.items if (group := group_of(item))}
    own = _file().with_name(f"{worker}-{GROUPS}")
    own.write_text(json.dumps(found))
    own.rename(_file())


def group_of(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("xdist_group")
    if mark is not None:
        return str(mark.args[0])
    names: list[str] = getattr(item, "fixturenames", [])
    server = next((SHARED[name] for name in names if name in SHARED), None)
    return server or (item.nodeid.partition("::")[0] if _shares_with_its_module(item) else None)


def _shares_with_its_module(item: pytest.Item) -> bool:
    """Whether it uses a fixture of module scope that is ours, of no plugin."""
    info: Any = getattr(item, "_fixtureinfo", None)
    used = info.name2fixturedefs.values() if info is not None else ()
    return any(each.scope == "module" and each.baseid for definitions in used for each in definitions)


def _file() -> Path:
    return Path(os.environ[RUN_DIR], GROUPS)
