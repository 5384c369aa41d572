"""A connector whose fetch does in a process of its own what a file `script` in its folder says, for the tests of fetches that
go wrong: hang, trickle, die, take memory, fill the disk, refuse."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from finops.connections.connector import AccessError, BillMonth, Fetch, MonthConflict
from finops.costs.focus.normalise import FocusFile
from tests.finops.connections.syncs.month_folders import MonthFolders, MonthFoldersConfig


def _wait_forever(_folder: Path) -> None:
    threading.Event().wait()


def _kill_process(_folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_once(folder: Path) -> None:
    (folder / "script").unlink()
    _kill_process(folder)


def _take_memory(_folder: Path) -> None:
    parts = []
    while True:
        parts.append(bytearray(os.urandom(1 << 20) * 16))


def _fill_disk(_folder: Path) -> None:
    raise OSError(28, "No space left on device")


def _refuse(_folder: Path) -> None:
    raise AccessError("The key has ended. Enter a new one.")


def _wait_an_hour(_folder: Path) -> None:
    error = AccessError("Too many requests.")
    error.retry_after = 3_600.0
    raise error


def _change(_folder: Path) -> None:
    raise MonthConflict


def _raise_error(_folder: Path) -> None:
    raise ZeroDivisionError


SCRIPTS: dict[str, Callable[[Path], None]] = {
    "hang": _wait_forever,
    "die": _kill_process,
    "die once": _die_once,
    "take memory": _take_memory,
    "fill disk": _fill_disk,
    "refuse": _refuse,
    "wait an hour": _wait_an_hour,
    "change": _change,
    "break": _raise_error,
}


class ScriptedFolders(MonthFolders):
    """After its files were copied, and `fetched` written as a sign."""

    def fetch(self, config: MonthFoldersConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        files = super().fetch(config, month, fetch)
        fetch.notes.append("Fetched in a process of its own.")
        folder = Path(config.folder).parent
        (folder / "fetched").write_text(f"{os.getpid()}")
        if (folder / "script").exists():
            SCRIPTS[(folder / "script").read_text()](folder)
        return files
