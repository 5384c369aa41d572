"""Writing a month to the bucket: its files first, then the manifest that names them, then replaced files are deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from uuid import UUID

import msgspec

from finops.connections.transports.bucket import StorageBucket
from finops.data_exports.layout import ExportLayout
from finops.data_exports.parquet_files import MonthFiles
from finops.data_exports.schemas import ExportedFile, MonthManifest
from finops.lib import clock


@dataclass(frozen=True)
class MonthStore:
    """The storage of one attempt. `export_id` is the export's public one. `progress` is called while a month is incomplete,
    and may end it there; `heartbeat` while the month is being completed."""

    bucket: StorageBucket
    layout: ExportLayout
    export_id: UUID
    execution: UUID
    progress: Callable[[], None]
    heartbeat: Callable[[], None]

    def put(
        self,
        dataset: str,
        month: date,
        files: MonthFiles,
        *,
        fingerprint: str,
        left_out: Sequence[str] = (),
    ) -> list[ExportedFile]:
        """Write the month's files and then its manifest: a reader of manifests sees the month before or after, and never
        half of it. Raises SourceError where the bucket cannot be written to."""
        stored = []
        for number, file in enumerate(files.files, 1):
            key = self.layout.file(dataset, month, self.execution, number)
            self.bucket.put(key, file.path)
            stored.append(ExportedFile(key=key, rows=file.rows, bytes=file.path.stat().st_size))
            self.progress()
        manifest = MonthManifest(
            export=self.layout.name,
            export_id=str(self.export_id),
            execution_id=str(self.execution),
            dataset=dataset,
            month=f"{month:%Y-%m}",
            created_at=clock.now().isoformat(timespec="seconds"),
            fingerprint=fingerprint,
            rows=files.rows,
            totals=files.totals,
            data_files=[f"{self.bucket.url}/{each.key}" for each in stored],
            files=stored,
            columns=files.columns,
            columns_left_out=list(left_out),
        )
        key = self.layout.manifest(dataset, month)
        size = self.put_json(key, manifest, files.folder)
        return [*stored, ExportedFile(key=key, rows=0, bytes=size)]

    def put_json(self, key: str, value: msgspec.Struct, folder: Path) -> int:
        """Write a small object and return its bytes."""
        path = folder / "object.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(value)))
        self.bucket.put(key, path)
        return path.stat().st_size

    def delete(self, keys: Iterable[str]) -> None:
        """Delete the files; ones that are already gone are no error."""
        for key in keys:
            self.bucket.delete(key)
            self.heartbeat()

    def discard(self, dataset: str, month: date, files: int) -> None:
        """Delete the files of a month that gets no manifest; files not written yet are no error. Raises SourceError."""
        self.delete(
            self.layout.file(dataset, month, self.execution, number) for number in range(1, files + 1)
        )
