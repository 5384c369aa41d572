"""The result of a run for each month, and the manifest next to a month's files."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

import msgspec


class ExportOutcome(StrEnum):
    UNCHANGED = "unchanged"
    WRITTEN = "written"
    REPLACED = "replaced"
    REMOVED = "removed"
    FAILED = "failed"


class MonthResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did with a month of a dataset (cost or splits); `month` is 2026-05."""

    dataset: str
    month: str
    outcome: ExportOutcome
    rows: int = 0
    bytes: int = 0
    files: int = 0
    seconds: float = 0
    error: str = ""


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in the bucket; `key` is below the prefix."""

    key: str
    rows: int
    bytes: int


class ExportTotal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Sums of all lines of a month in one currency, exact. Of splits, what they moved away adds up with what arrived: 0."""

    currency: str
    billed_cost: Decimal
    effective_cost: Decimal


class ManifestColumn(msgspec.Struct, frozen=True):
    name: str
    type: str


class MonthManifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which files are a month. `data_files` and `columns` are read as those of AWS Data Exports."""

    version: int = 1
    export: str
    export_id: str
    execution_id: str
    dataset: str
    month: str
    created_at: str
    fingerprint: str
    rows: int
    totals: list[ExportTotal]
    data_files: list[str]
    files: list[ExportedFile]
    columns: list[ManifestColumn]
    columns_left_out: list[str] = []


class ExportMarker(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whose folder it is, so that no two exports write to one."""

    export_id: str
    export: str
