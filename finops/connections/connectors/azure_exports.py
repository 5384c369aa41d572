"""Azure Cost Management exports: FOCUS, or actual and amortized cost as a pair of exports.

A run writes a folder of its own below the export's name and date range: `…/20260501-20260531/…/<guid>/`, with `manifest.json` after
all other files. Azure writes the name before or after the range, and a time before the run where each run creates a new report; all
forms are read. Where reports are overwritten, the former run is removed. The newest run of a month with a manifest counts. Source:
learn.microsoft.com/azure/cost-management-billing/costs/tutorial-improved-exports, and New-FinOpsCostExport.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Annotated, Final, NamedTuple

import msgspec

from finops.connections.azure import AzureBlobConfig, open_container
from finops.connections.azure_setup import export_steps
from finops.connections.checks import CheckList, check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    ConfigError,
    Connector,
    Fetch,
    MonthConflict,
    SetupStep,
    SourceError,
)
from finops.connections.transports.bucket import (
    BucketObject,
    StorageBucket,
    objects_fingerprint,
    shown_key,
)
from finops.costs.focus.normalise import FocusFile

PAIR: Final = ("ActualCost", "AmortizedCost")
TYPES: Final = ("FocusCost", *PAIR)
_MANIFEST: Final = "manifest.json"
_RANGE: Final = re.compile(r"([0-9]{8})-([0-9]{8})")
_RUN: Final = re.compile(r"[0-9]{12,14}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_EXPORT_NAME: Final = r"^[A-Za-z0-9_-]{0,64}$"


class AzureExportsConfig(AzureBlobConfig, frozen=True, kw_only=True):
    """One export, or a pair, in a container."""

    path: Annotated[
        str,
        msgspec.Meta(
            title="Directory",
            description="Directory of the export. Leave empty to search the whole container.",
            examples=["exports"],
            max_length=500,
        ),
    ] = ""
    export: Annotated[
        str,
        msgspec.Meta(
            title="Export name",
            description="Required if several exports share the directory. Of a pair, the export of actual cost.",
            examples=["focus"],
            pattern=_EXPORT_NAME,
        ),
    ] = ""
    amortized_export: Annotated[
        str,
        msgspec.Meta(
            title="Export of the amortized cost",
            description="For a pair of actual and amortized cost.",
            examples=["amortized"],
            pattern=_EXPORT_NAME,
        ),
    ] = ""

    def __post_init__(self) -> None:
        if self.amortized_export and not self.export:
            raise ConfigError("Enter the export of actual cost too.", field="export")
        if self.amortized_export and self.amortized_export == self.export:
            raise ConfigError(
                "Actual and amortized cost are two exports: enter two names.", field="amortized_export"
            )


class _Blob(msgspec.Struct, rename="camel"):
    blob_name: str


class _ExportConfig(msgspec.Struct):
    type: str = ""


class AzureManifest(msgspec.Struct, rename="camel"):
    """The manifest of a run: its files and their type of cost."""

    blobs: list[_Blob]
    export_config: _ExportConfig = msgspec.field(default_factory=_ExportConfig)


@dataclass(frozen=True)
class AzureRun:
    """The listed folder of a run. `days` is the length of its date range."""

    days: int
    time: str
    manifest: BucketObject
    files: list[BucketObject]

    @property
    def order(self) -> tuple[int, str, str, str]:
        """Sort key: the longest range first, since a shorter range is a part of the month; then the newest run."""
        return self.days, self.time, self.manifest.modified, self.manifest.key


class AzureExports(Connector[AzureExportsConfig]):
    name = "azure_exports"
    title = "Azure Cost Management exports"
    provider = "Microsoft Azure"
    icon = "brand-azure"
    docs_url = "https://learn.microsoft.com/azure/cost-management-billing/costs/tutorial-improved-exports"
    description = "FOCUS, or actual and amortized cost, in a storage account."
    order = 20
    Config = AzureExportsConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return export_steps()

    def check(self, config: AzureExportsConfig) -> list[CheckFinding]:
        with check_list() as checks:
            bucket = checks.attempt("Enter the container", lambda: open_container(config, config.path))
            objects = checks.attempt(f"List {bucket.url}", bucket.objects)
            with bucket:
                months = checks.attempt(
                    "Find the export's runs", lambda: _some_months(bucket, config, objects)
                )
                newest = max(months)
                _check_month(checks, bucket, newest, months[newest])
        return checks.findings

    def months(self, config: AzureExportsConfig) -> list[BillMonth]:
        with open_container(config, config.path) as bucket:
            months = _months(bucket, config, bucket.objects())
            return [_bill_month(month, runs) for month, runs in sorted(months.items())]

    def fetch(self, config: AzureExportsConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """Raises MonthConflict if the month was deleted or rewritten since the check."""
        with open_container(config, config.path) as bucket:
            runs = _months(bucket, config, bucket.objects()).get(month.month)
            if runs is None:
                raise MonthConflict(f"{month.month:%Y-%m} is still being delivered.")
            manifests = [_manifest(bucket, run) for run in runs]
            _check_types([each.export_config.type for each in manifests])
            kinds: dict[str, str] = {}
            objects = []
            for run, manifest in zip(runs, manifests, strict=True):
                of_run = _files(bucket, run, manifest)
                kinds.update({each.key: manifest.export_config.type for each in of_run})
                objects += of_run
            return [
                _with_type(each, kinds[blob.key])
                for each, blob in zip(bucket.download_month(objects, fetch), objects, strict=True)
            ]


def _with_type(file: FocusFile, kind: str) -> FocusFile:
    """Return the file with its export's type in the name: the importer of a pair needs the type, and the lines may not have it."""
    if kind not in PAIR:
        return file
    path = file.path.rename(file.path.with_name(f"{kind}-{file.path.name}"))
    return FocusFile(path, file.name)


def _months(
    bucket: StorageBucket, config: AzureExportsConfig, objects: Iterable[BucketObject]
) -> dict[date, list[AzureRun]]:
    """Return the newest run of each month, and for a pair the runs of both exports. A month that one export of a pair
    lacks is left out."""
    exports = _runs(objects)
    names = [name for name in (config.export, config.amortized_export) if name]
    if not names:
        names = [_only_export(bucket, exports)]
    for name in names:
        if name not in exports:
            raise SourceError(
                f"{bucket.url} has no finished run of export {name}. Azure writes the first within a day. Check the "
                "container, directory and name.",
                field="export",
            )
    common = set.intersection(*(set(exports[name]) for name in names))
    return {month: [exports[name][month] for name in names] for month in common}


def _only_export(bucket: StorageBucket, exports: Mapping[str, object]) -> str:
    if not exports:
        raise SourceError(
            f"{bucket.url} has no finished run of an export. Azure writes the first within a day. Check the container "
            "and directory."
        )
    if len(exports) > 1:
        names = ", ".join(shown_key(name) for name in sorted(exports)[:5])
        raise SourceError(
            f"{bucket.url} has {len(exports)} exports: {names}. Enter the name of the one to read, or of both of a pair.",
            field="export",
        )
    return next(iter(exports))


def _runs(objects: Iterable[BucketObject]) -> dict[str, dict[date, AzureRun]]:
    """Return the newest run with a manifest, by export and month."""
    folders: dict[str, dict[str, BucketObject]] = defaultdict(dict)
    for each in objects:
        folder, _, name = each.key.rpartition("/")
        folders[folder][name] = each
    exports: dict[str, dict[date, AzureRun]] = defaultdict(dict)
    for folder, files in folders.items():
        manifest, place = files.pop(_MANIFEST, None), _place(folder)
        if manifest is None or place is None:
            continue
        run = AzureRun(place.days, place.time, manifest, list(files.values()))
        before = exports[place.export].get(place.month)
        if before is None or run.order > before.order:
            exports[place.export][place.month] = run
    return exports


class _Place(NamedTuple):
    export: str
    month: date
    days: int
    time: str


def _place(folder: str) -> _Place | None:
    """Parse the path of a run's folder; None for any other folder, and for ranges of more than one month."""
    parts = folder.split("/")
    at = next((number for number, part in enumerate(parts) if _RANGE.fullmatch(part)), None)
    if at is None:
        return None
    behind = [part for part in parts[at + 1 :] if not _RUN.fullmatch(part)]
    export = behind[0] if behind else parts[at - 1] if at else ""
    time = next((part for part in parts[at + 1 :] if part.isdigit() and part != export), "")
    first, last = (_date(text) for text in parts[at].split("-"))
    if first is None or last is None or (first.year, first.month) != (last.year, last.month):
        return None
    return _Place(export, first.replace(day=1), (last - first).days, time)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _bill_month(month: date, runs: Sequence[AzureRun]) -> BillMonth:
    objects = [each for run in runs for each in (run.manifest, *run.files)]
    return BillMonth(
        month, objects_fingerprint(objects), sum(each.bytes for run in runs for each in run.files)
    )


def _manifest(bucket: StorageBucket, run: AzureRun) -> AzureManifest:
    manifest: AzureManifest = bucket.read_json(run.manifest, AzureManifest)
    return manifest


def _files(bucket: StorageBucket, run: AzureRun, manifest: AzureManifest) -> list[BucketObject]:
    """Return the files that the manifest names, without duplicates. Raises SourceError for a file outside the run's
    folder, MonthConflict for a missing file."""
    folder = run.manifest.key.removesuffix(_MANIFEST)
    listed = {each.key: each for each in run.files}
    files = []
    for text in dict.fromkeys(each.blob_name for each in manifest.blobs):
        key = bucket.key_of(text)
        if not key.startswith(folder):
            raise SourceError(
                f"{shown_key(run.manifest.key)} names {shown_key(key)}, which is not of this run."
            )
        if key not in listed:
            raise MonthConflict(f"The manifest lists {shown_key(key)}, which does not exist yet.")
        files.append(listed[key])
    return files


def _check_types(types: Sequence[str]) -> None:
    """Raises SourceError for an export without cost, and for two exports that are not a pair."""
    for kind in types:
        if kind not in TYPES:
            raise SourceError(
                f"The export is of the type {shown_key(kind) or 'unknown'}. Export 'Cost and usage details (FOCUS)', or actual "
                "and amortized cost.",
                field="export",
            )
    if len(types) == 2 and tuple(types) != PAIR:
        raise SourceError(
            f"The exports are of the types {types[0]} and {types[1]}. Of a pair the first is of actual, the second of amortized "
            "cost.",
            field="amortized_export",
        )


def _some_months(
    bucket: StorageBucket, config: AzureExportsConfig, objects: Iterable[BucketObject]
) -> dict[date, list[AzureRun]]:
    months = _months(bucket, config, objects)
    if not months:
        raise SourceError("No month has a run of both exports yet. Run both for the same month.")
    return months


def _check_month(checks: CheckList, bucket: StorageBucket, month: date, runs: Sequence[AzureRun]) -> None:
    manifests = [
        checks.attempt(f"Read {shown_key(run.manifest.key)}", partial(_manifest, bucket, run)) for run in runs
    ]
    types = [each.export_config.type for each in manifests]
    checks.attempt("Detect the type of the export", partial(_check_types, types))
    for run, manifest in zip(runs, manifests, strict=True):
        checks.attempt(f"Find the files of {month:%Y-%m}", partial(_files, bucket, run, manifest))
