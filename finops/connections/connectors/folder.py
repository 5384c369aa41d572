"""A folder of FOCUS files on this server, by a path pattern. Only where its operator allows it (CONNECTION_FOLDERS)."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Fetch,
    SetupStep,
    SourceError,
)
from finops.connections.file_pattern import FilePattern
from finops.connections.pattern_files import DefaultCurrency, Provider, newest_file
from finops.connections.transports.bucket import BucketObject, objects_fingerprint
from finops.connections.transports.local import LocalBucket, open_folder
from finops.costs.focus.normalise import FocusFile
from finops.costs.focus.open_files import first_billing_month


class FolderConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A folder and which files in it."""

    folder: Annotated[
        str,
        msgspec.Meta(
            title="Folder",
            description="Absolute path on this server.",
            examples=["/srv/cost"],
            min_length=1,
            max_length=500,
        ),
    ]
    pattern: Annotated[
        str,
        msgspec.Meta(
            title="Files",
            description="Path below the folder. * matches any text, ** any folders. {year} and {month}, or {yyyymm}, mark the billing month; without them it is read from BILLING_PERIOD= in the path, or from the file.",
            examples=["focus/BILLING_PERIOD={year}-{month}/*.csv.gz"],
            min_length=1,
            max_length=300,
        ),
    ] = "**/*"
    default_currency: DefaultCurrency = ""
    provider: Provider = ""


class FolderConnector(Connector[FolderConfig]):
    name = "folder"
    title = "Folder on this server"
    provider = "Files"
    icon = "folder"
    docs_url = "https://focus.finops.org/focus-specification/"
    description = "FOCUS files as CSV, CSV.gz or Parquet."
    order = 900
    takes_any_columns = True
    Config = FolderConfig

    def steps(self, external_id: str) -> list[SetupStep]:
        return [
            SetupStep(
                "Allow the folder",
                "Set on this server. Nothing outside these folders is read, not even through links.",
                "CONNECTION_FOLDERS=/srv/cost",
                "sh",
            ),
            SetupStep(
                "Write complete files",
                "Write each file under a temporary name, then rename it.",
                "/srv/cost/focus/BILLING_PERIOD=2026-05/part-1.csv.gz",
            ),
        ]

    def check(self, config: FolderConfig) -> list[CheckFinding]:
        with check_list() as checks:
            pattern = checks.attempt("Read the pattern", lambda: FilePattern.parse(config.pattern))
            bucket = checks.attempt(f"Open {config.folder}", lambda: open_folder(config.folder))
            months = checks.attempt(
                f"Find files matching {config.pattern}",
                lambda: _some_months(bucket, pattern, config),
            )
            newest = max(months)
            checks.attempt(
                f"Read a file of {newest:%Y-%m}",
                lambda: first_billing_month(
                    _focus_file(bucket, months[newest][0]), config.column_mapping, config.defaults
                ),
            )
        return checks.findings

    def months(self, config: FolderConfig) -> list[BillMonth]:
        months = _months(open_folder(config.folder), FilePattern.parse(config.pattern), config)
        return [
            BillMonth(month, objects_fingerprint(files), sum(each.bytes for each in files))
            for month, files in sorted(months.items())
        ]

    def fetch(self, config: FolderConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        bucket = open_folder(config.folder)
        months = _months(bucket, FilePattern.parse(config.pattern), config)
        return bucket.download_month(months.get(month.month, []), fetch)

    def newest_file(self, config: FolderConfig, folder: Path) -> FocusFile:
        return newest_file(open_folder(config.folder), FilePattern.parse(config.pattern), folder)


def _months(
    bucket: LocalBucket, pattern: FilePattern, config: FolderConfig
) -> dict[date, list[BucketObject]]:
    """The files of each month, each file in one month: lines of other months in it are corrections that it carries. Raises
    SourceError for a file of which nobody can tell, UserError for one that cannot be read."""
    months: dict[date, list[BucketObject]] = defaultdict(list)
    for each in bucket.objects():
        if not pattern.matches(each.key) or not each.bytes:
            continue
        month = pattern.month_of(each.key)
        if month is None and pattern.has_month:
            raise SourceError(f"The path {each.key} has no valid month.", field="pattern")
        month = month or first_billing_month(
            _focus_file(bucket, each), config.column_mapping, config.defaults
        )
        if month is not None:
            months[month].append(each)
    return months


def _some_months(
    bucket: LocalBucket, pattern: FilePattern, config: FolderConfig
) -> dict[date, list[BucketObject]]:
    months = _months(bucket, pattern, config)
    if not months:
        raise SourceError(f"No file in {bucket.url} matches {pattern.text}.", field="pattern")
    return months


def _focus_file(bucket: LocalBucket, each: BucketObject) -> FocusFile:
    return FocusFile(bucket.path_of(each), each.key)
