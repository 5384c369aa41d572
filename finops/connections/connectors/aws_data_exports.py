"""AWS Data Exports: FOCUS and CUR 2.0, by the manifest of each billing month.

`<prefix>/<export>/data/BILLING_PERIOD=YYYY-MM/…` has files, `<prefix>/<export>/metadata/BILLING_PERIOD=YYYY-MM/…`
manifests. "Overwrite" writes the same names again; "create new" puts each execution into a folder of its own in both
places, so that only the newest manifest says which files are current. A manifest is written after all its files.
Source: docs.aws.amazon.com/cur/latest/userguide/dataexports-export-delivery.html.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import msgspec

from finops.connections.aws import (
    AwsBucketConfig,
    check_bucket,
    check_format,
    columns_of,
    only_export,
    open_export,
)
from finops.connections.aws_setup import data_export_steps
from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    Connector,
    Fetch,
    MonthConflict,
    SetupStep,
    SourceError,
)
from finops.connections.transports.bucket import BucketObject, StorageBucket, objects_fingerprint, shown_key
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock

SETTLED: Final = timedelta(hours=1)
"""A file that is newer than its manifest belongs to an incomplete delivery. After this time it counts as a copied
bucket, where the times of the copies have no order."""

FORMATS: Final = ("CUR", "FOCUS")

_KEY: Final = re.compile(
    r"(?:(?P<export>.+)/)?(?P<kind>data|metadata)/billing_period=(?P<month>[0-9]{4}-[0-9]{2})/(?P<rest>.+)",
    re.IGNORECASE,
)


class ExportManifest(msgspec.Struct):
    """The manifest of an execution: the files of the month, as URLs or keys."""

    data_files: list[str] = msgspec.field(name="dataFiles")
    columns: Any = None


@dataclass
class ExportMonth:
    """The listed objects of a billing month: manifests and files, by the part of their keys after the month."""

    manifests: dict[str, BucketObject] = field(default_factory=dict)
    files: dict[str, BucketObject] = field(default_factory=dict)

    @property
    def manifest(self) -> BucketObject:
        """The newest manifest: for an export that creates new files, that of the last execution."""
        return max(self.manifests.values(), key=lambda each: (each.modified, each.key))

    @property
    def current(self) -> list[BucketObject]:
        """The files of the newest execution, or the overwritten files. They give bytes and fingerprint before the
        manifest is read. The expiry of older executions changes nothing."""
        by_folder: dict[str, list[BucketObject]] = defaultdict(list)
        for path, each in self.files.items():
            by_folder[path.rpartition("/")[0]].append(each)
        path = next(path for path, each in self.manifests.items() if each is self.manifest)
        if folder := path.rpartition("/")[0]:
            return by_folder[folder]
        return max(by_folder.values(), key=lambda files: max(each.modified for each in files), default=[])

    def is_settled(self) -> bool:
        """Return False while a delivery is incomplete and its manifest missing."""
        newest = max((each.modified for each in self.current), default="")
        if newest <= self.manifest.modified:
            return True
        return datetime.fromisoformat(newest) < clock.now().astimezone(UTC) - SETTLED


class AwsDataExportsConnector(Connector[AwsBucketConfig]):
    name = "aws_data_exports"
    title = "AWS Data Exports"
    provider = "AWS"
    icon = "brand-aws"
    docs_url = "https://docs.aws.amazon.com/cur/latest/userguide/what-is-data-exports.html"
    description = "FOCUS 1.0 and 1.2 or CUR 2.0 in an S3 bucket."
    order = 10
    Config = AwsBucketConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return data_export_steps(external_id)

    def check(self, config: AwsBucketConfig) -> list[CheckFinding]:
        with check_list() as checks:
            bucket, objects = check_bucket(config, checks)
            with bucket:
                months = checks.attempt("Find the export's manifests", lambda: _months(bucket, objects))
                newest = max(months)
                manifest = checks.attempt(
                    f"Read {shown_key(months[newest].manifest.key)}",
                    lambda: bucket.read_json(months[newest].manifest, ExportManifest),
                )
                files = checks.attempt(
                    f"Find the files of {newest:%Y-%m}", lambda: _files(bucket, months[newest], manifest)
                )
                checks.attempt(
                    "Read a file and detect its format",
                    lambda: check_format(bucket, files, columns_of(manifest.columns), FORMATS),
                )
        return checks.findings

    def months(self, config: AwsBucketConfig) -> list[BillMonth]:
        with open_export(config) as bucket:
            return _bill_months(_months(bucket, bucket.objects()))

    def month(self, config: AwsBucketConfig, month: date) -> BillMonth | None:
        with open_export(config) as bucket:
            export = _months(bucket, bucket.objects()).get(month)
            return _bill_month(month, export) if export else None

    def fetch(self, config: AwsBucketConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """Raises MonthConflict if the export was deleted or rewritten since the check."""
        with open_export(config) as bucket:
            export = _months(bucket, bucket.objects()).get(month.month)
            if export is None or not export.is_settled():
                raise MonthConflict(f"{month.month:%Y-%m} is still being delivered.")
            manifest = bucket.read_json(export.manifest, ExportManifest)
            return bucket.download_month(_files(bucket, export, manifest), fetch)


def _months(bucket: StorageBucket, objects: Iterable[BucketObject]) -> dict[date, ExportMonth]:
    """Return the months of the only export below the prefix that have a manifest."""
    exports: dict[str, dict[date, ExportMonth]] = defaultdict(lambda: defaultdict(ExportMonth))
    for each in objects:
        match = _KEY.fullmatch(each.key)
        month = _month(match["month"]) if match else None
        if match is None or month is None:
            continue
        of_month = exports[match["export"] or ""][month]
        if match["kind"].lower() == "data":
            of_month.files[match["rest"]] = each
        elif match["rest"].endswith("-Manifest.json"):
            of_month.manifests[match["rest"]] = each
    listed = {
        path: {month: each for month, each in months.items() if each.manifests}
        for path, months in exports.items()
    }
    return listed[
        only_export({path for path, months in listed.items() if months}, bucket.url, "a data export")
    ]


def _month(text: str) -> date | None:
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        return None


def _bill_months(months: dict[date, ExportMonth]) -> list[BillMonth]:
    return [_bill_month(month, each) for month, each in sorted(months.items()) if each.is_settled()]


def _bill_month(month: date, each: ExportMonth) -> BillMonth:
    current = each.current
    return BillMonth(
        month, objects_fingerprint([each.manifest, *current]), sum(listed.bytes for listed in current)
    )


def _files(bucket: StorageBucket, month: ExportMonth, manifest: ExportManifest) -> list[BucketObject]:
    """Return the files that the manifest names, without duplicates. Raises SourceError for a file outside this
    month's data, MonthConflict for a missing file."""
    listed = {each.key: each for each in month.files.values()}
    folder = month.manifest.key.lower().rpartition("metadata/")
    partition = folder[0] + "data/" + folder[2].split("/")[0] + "/"
    files = []
    for text in dict.fromkeys(manifest.data_files):
        key = bucket.key_of(text)
        if not key.lower().startswith(partition):
            raise SourceError(
                f"{shown_key(month.manifest.key)} names {shown_key(key)}, which is not among the month's data."
            )
        if key not in listed:
            raise MonthConflict(f"The manifest lists {shown_key(key)}, which does not exist yet.")
        files.append(listed[key])
    return files
