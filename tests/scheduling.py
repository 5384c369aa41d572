"""pytest plugin: the tests that pytest-xdist runs in sequence in one worker, with `--dist loadgroup`.

A group has the tests of one `xdist_group` mark, those that share a server, or those of a module that share one of its
fixtures, so that a server, a browser or an account with data starts once and not in each worker. Groups are scheduled first,
those of FIRST and then the largest, so that no worker waits for one at the end.

The scheduler of pytest-xdist 3.8 gets its groups in test names, which pytest 9.2 no longer allows to change
(pytest-xdist issue 1386): it silently groups nothing. Here the groups are in a file.
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
# Fixtures that start a server for the whole session, and the group of the tests that use each.
SHARED = {"live_server_process": "mcp-clients", "oauth_server": "mcp-clients", "console": "browser"}
# The slowest groups. "up" does not use the run's database, so in a new checkout it runs while another worker migrates that database.
FIRST = ("up", "browser", "processes", "query budget")


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler for which a group is one unit of work; any other test is a unit of its own."""

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
        """Forget finished units: after each test pytest-xdist counts all units that a worker ever had."""
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
    """Write the groups in a worker, before it reports that it is ready. All workers write the same."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return
    groups = {item.nodeid: group for item in session.items if (group := group_of(item))}
    own = _file().with_name(f"{worker}-{GROUPS}")
    own.write_text(json.dumps(groups))
    own.rename(_file())


def group_of(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("xdist_group")
    if mark is not None:
        return str(mark.args[0])
    names: list[str] = getattr(item, "fixturenames", [])
    server = next((SHARED[name] for name in names if name in SHARED), None)
    return server or (item.nodeid.partition("::")[0] if _shares_with_its_module(item) else None)


def _shares_with_its_module(item: pytest.Item) -> bool:
    """Return whether the test uses a fixture of module scope that is defined here, not by a plugin."""
    info: Any = getattr(item, "_fixtureinfo", None)
    used = info.name2fixturedefs.values() if info is not None else ()
    return any(each.scope == "module" and each.baseid for definitions in used for each in definitions)


def _file() -> Path:
    return Path(os.environ[RUN_DIR], GROUPS)
