"""A connector of local folders, one a month (`2026-05/*.csv`), for the tests of syncs: what it reads is real, and a test can
say what happens while it reads."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec

from finops.connections.connector import (
    AccessError,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Fetch,
    SecretText,
)
from finops.costs.focus.normalise import FocusFile

NAME = "month_folders"


class MonthFoldersConfig(ConnectorConfig, frozen=True, kw_only=True):
    folder: Annotated[str, msgspec.Meta(title="Folder", examples=["/exports"], min_length=1, max_length=500)]
    password: Annotated[SecretText | None, msgspec.Meta(title="Password")] = None
    depth: Annotated[int, msgspec.Meta(title="Depth", ge=1, le=3)] = 1


class MonthFolders(Connector[MonthFoldersConfig]):
    name = NAME
    title = "Folders of months"
    provider = "Test"
    Config = MonthFoldersConfig

    calls: ClassVar[Counter[str]] = Counter()
    seen: ClassVar[list[MonthFoldersConfig]] = []
    on_list: ClassVar[Callable[[], None]] = lambda: None
    on_fetch: ClassVar[Callable[[BillMonth], object]] = lambda _month: None
    """Called with each month that is read, after its files were copied."""

    def check(self, config: MonthFoldersConfig) -> list[CheckFinding]:
        is_there = Path(config.folder).is_dir()
        return [CheckFinding(f"List {config.folder}", is_there, "" if is_there else "Make the folder.")]

    def months(self, config: MonthFoldersConfig) -> list[BillMonth]:
        self.calls["months"] += 1
        self.seen.append(config)
        MonthFolders.on_list()
        try:
            folders = [each for each in Path(config.folder).iterdir() if each.is_dir()]
        except OSError as error:
            raise AccessError(
                f"{config.folder} cannot be listed ({error.strerror}). Allow reading it."
            ) from error
        return [_bill_month(folder) for folder in folders]

    def month(self, config: MonthFoldersConfig, month: date) -> BillMonth | None:
        self.calls["month"] += 1
        folder = Path(config.folder, f"{month:%Y-%m}")
        return _bill_month(folder) if folder.is_dir() else None

    def fetch(self, config: MonthFoldersConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        self.calls["fetch"] += 1
        files = []
        for path in sorted(Path(config.folder, f"{month.month:%Y-%m}").iterdir()):
            try:
                shutil.copy(path, fetch.folder / path.name)
            except PermissionError as error:
                raise AccessError(f"{path.name} cannot be read. Allow reading it.") from error
            fetch.progress(path.stat().st_size)
            files.append(FocusFile(fetch.folder / path.name, path.name))
        MonthFolders.on_fetch(month)
        return files


def _bill_month(folder: Path) -> BillMonth:
    files = sorted((each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in folder.iterdir())
    digest = sha256(repr(files).encode()).hexdigest()
    return BillMonth(date.fromisoformat(f"{folder.name}-01"), digest, sum(size for _, size, _ in files))
