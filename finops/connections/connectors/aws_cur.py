"""Legacy AWS Cost and Usage Reports, by the manifest of each billing month.

`<prefix>/<report>/<yyyymmdd-yyyymmdd>/<report>-Manifest.json` names the current files: of a report that creates new versions those
in `<assemblyId>/`, of one that overwrites those beside the manifest, of one for Athena those in `<report>/year=…/month=…/`. The
manifest in an assembly's folder is a copy. Source: docs.aws.amazon.com/cur/latest/userguide/access-cur-s3.html.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
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
from finops.connections.aws_setup import cur_steps
from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    Connector,
    Fetch,
    MonthConflict,
    SetupStep,
)
from finops.connections.transports.bucket import BucketObject, StorageBucket, objects_fingerprint, shown_key
from finops.costs.focus.normalise import FocusFile

_RANGE: Final = r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})[0-9]{2}-[0-9]{8}"
_IN_MONTH: Final = re.compile(rf"(?:(?P<report>.+?)/)?{_RANGE}/(?:(?P<assembly>[^/]+)/)?(?P<file>[^/]+)")
_FOR_ATHENA: Final = re.compile(
    r"(?:(?P<report>.+?)/)?[^/]+/year=(?P<year>[0-9]{4})/month=(?P<month>[0-9]{1,2})/(?P<file>[^/]+)"
)


class ReportManifest(msgspec.Struct):
    """The manifest of a billing month's current files."""

    report_keys: list[str] = msgspec.field(name="reportKeys")
    columns: Any = None


@dataclass
class ReportMonth:
    """The listed objects of a billing month: its manifest, the files of each assembly, and overwritten files."""

    manifest: BucketObject | None = None
    assemblies: dict[str, list[BucketObject]] = field(default_factory=lambda: defaultdict(list))
    files: list[BucketObject] = field(default_factory=list)

    @property
    def newest(self) -> list[BucketObject]:
        """The files of the newest assembly, or the overwritten files. They give bytes and fingerprint before the
        manifest is read. The expiry of older assemblies changes nothing."""
        by_age = sorted(self.assemblies.values(), key=lambda each: max(file.modified for file in each))
        return [*self.files, *(by_age[-1] if by_age else [])]


class AwsCurConnector(Connector[AwsBucketConfig]):
    name = "aws_cur"
    title = "AWS Cost and Usage Report (legacy)"
    provider = "AWS"
    icon = "brand-aws"
    docs_url = "https://docs.aws.amazon.com/cur/latest/userguide/what-is-cur.html"
    description = "Legacy CUR in an S3 bucket, as gzip, ZIP or Parquet. For new setups, use Data Exports."
    order = 20
    Config = AwsBucketConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return cur_steps(external_id)

    def check(self, config: AwsBucketConfig) -> list[CheckFinding]:
        with check_list() as checks:
            bucket, objects = check_bucket(config, checks)
            with bucket:
                months = checks.attempt("Find the report's manifests", lambda: _months(bucket, objects))
                newest = max(months)
                key = shown_key(_manifest_of(months[newest]).key)
                manifest = checks.attempt(f"Read {key}", lambda: _read(bucket, months[newest]))
                files = checks.attempt(
                    f"Find the files of {newest:%Y-%m}", lambda: _files(bucket, objects, manifest)
                )
                checks.attempt(
                    "Read a file and detect its format",
                    lambda: check_format(bucket, files, columns_of(manifest.columns), ["CUR"]),
                )
        return checks.findings

    def months(self, config: AwsBucketConfig) -> list[BillMonth]:
        with open_export(config) as bucket:
            months = _months(bucket, bucket.objects())
            return [_bill_month(month, each) for month, each in sorted(months.items())]

    def fetch(self, config: AwsBucketConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """Raises MonthConflict if the report was deleted or rewritten since the check."""
        with open_export(config) as bucket:
            objects = bucket.objects()
            report = _months(bucket, objects).get(month.month)
            if report is None:
                raise MonthConflict(f"{month.month:%Y-%m} was deleted during the sync.")
            return bucket.download_month(_files(bucket, objects, _read(bucket, report)), fetch)


def _months(bucket: StorageBucket, objects: Iterable[BucketObject]) -> dict[date, ReportMonth]:
    """Return the months of the only report below the prefix that have a manifest."""
    reports: dict[str, dict[date, ReportMonth]] = defaultdict(lambda: defaultdict(ReportMonth))
    for each in objects:
        match = _FOR_ATHENA.fullmatch(each.key) or _IN_MONTH.fullmatch(each.key)
        month = _month(match) if match else None
        if match is None or month is None:
            continue
        of_month = reports[match["report"] or ""][month]
        assembly = match.groupdict().get("assembly")
        if match["file"].endswith("-Manifest.json"):
            if not assembly:
                of_month.manifest = each
        elif assembly:
            of_month.assemblies[assembly].append(each)
        else:
            of_month.files.append(each)
    listed = {
        path: {month: each for month, each in months.items() if each.manifest}
        for path, months in reports.items()
    }
    return listed[only_export({path for path, months in listed.items() if months}, bucket.url, "a report")]


def _month(match: re.Match[str]) -> date | None:
    try:
        return date(int(match["year"]), int(match["month"]), 1)
    except ValueError:
        return None


def _manifest_of(month: ReportMonth) -> BucketObject:
    assert month.manifest is not None  # noqa: S101 months without one are not listed
    return month.manifest


def _bill_month(month: date, each: ReportMonth) -> BillMonth:
    return BillMonth(
        month,
        objects_fingerprint([_manifest_of(each), *each.newest]),
        sum(listed.bytes for listed in each.newest),
    )


def _read(bucket: StorageBucket, month: ReportMonth) -> ReportManifest:
    manifest: ReportManifest = bucket.read_json(_manifest_of(month), ReportManifest)
    return manifest


def _files(
    bucket: StorageBucket, objects: Iterable[BucketObject], manifest: ReportManifest
) -> list[BucketObject]:
    """Return the files that the manifest names, without duplicates. A report without a prefix has keys with a leading
    slash in its manifest. Raises MonthConflict for a missing file, SourceError for a file outside the prefix."""
    listed = {each.key: each for each in objects}
    keys = [bucket.key_of(text.removeprefix("/")) for text in dict.fromkeys(manifest.report_keys)]
    missing = [key for key in keys if key not in listed]
    if missing:
        raise MonthConflict(f"The manifest lists {shown_key(missing[0])}, which does not exist yet.")
    return [listed[key] for key in keys]
