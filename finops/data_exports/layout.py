"""The paths of an export's files below its folder, the same as of AWS Data Exports, so that the same tools read them. Pure.

`<name>/data/BILLING_PERIOD=2026-10/<execution id>-00001.snappy.parquet` and, written last, the manifest that lists the
files of the month: `<name>/metadata/BILLING_PERIOD=2026-10/<name>-Manifest.json`. Cost moved by splits is separate, by the
month of the charge: `<name>/splits/CHARGE_MONTH=2026-10/…`. Source:
docs.aws.amazon.com/cur/latest/userguide/dataexports-export-delivery.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

COST: Final = "cost"
SPLITS: Final = "splits"
FILE_ENDING: Final = ".snappy.parquet"
_FOLDERS: Final = {COST: ("data", "BILLING_PERIOD"), SPLITS: ("splits", "CHARGE_MONTH")}
_PLACE: Final = re.compile(r"=(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])/[^/]+$")
_FILE: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9]{5}\.snappy\.parquet")


@dataclass(frozen=True)
class ExportLayout:
    """The keys of an export of this name, relative to the bucket's prefix."""

    name: str

    @property
    def folder(self) -> str:
        return f"{self.name}/"

    @property
    def marker(self) -> str:
        """The object that identifies the owner of the folder."""
        return f"{self.name}/metadata/export.json"

    def data_folder(self, dataset: str, month: date) -> str:
        folder, partition = _FOLDERS[dataset]
        return f"{self.name}/{folder}/{partition}={month:%Y-%m}/"

    def file(self, dataset: str, month: date, execution: UUID, number: int) -> str:
        return f"{self.data_folder(dataset, month)}{execution}-{number:05d}{FILE_ENDING}"

    def manifest(self, dataset: str, month: date) -> str:
        _, partition = _FOLDERS[dataset]
        ending = "Manifest.json" if dataset == COST else "Splits.json"
        return f"{self.name}/metadata/{partition}={month:%Y-%m}/{self.name}-{ending}"

    def is_file_of(self, key: str, dataset: str, month: date) -> bool:
        """Whether a run wrote this file: other files in the folder are never changed."""
        folder = self.data_folder(dataset, month)
        return key.startswith(folder) and _FILE.fullmatch(key[len(folder) :]) is not None

    def place_of(self, key: str) -> tuple[str, date] | None:
        """Return dataset and month of a file that a run wrote; None for any other file."""
        match = _PLACE.search(key)
        if match is None:
            return None
        month = date(int(match["year"]), int(match["month"]), 1)
        return next(((each, month) for each in _FOLDERS if self.is_file_of(key, each, month)), None)

    def is_own(self, key: str) -> bool:
        """Whether a run wrote it, of any month: a file, a manifest or the marker."""
        if not key.startswith(self.folder):
            return False
        relative_path = key[len(self.folder) :]
        partition = r"(BILLING_PERIOD|CHARGE_MONTH)=[0-9]{4}-[0-9]{2}"
        manifest = rf"metadata/{partition}/{re.escape(self.name)}-(Manifest|Splits)\.json"
        is_file = re.fullmatch(rf"(data|splits)/{partition}/{_FILE.pattern}", relative_path)
        return key == self.marker or bool(is_file) or bool(re.fullmatch(manifest, relative_path))
