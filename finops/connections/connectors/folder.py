"""A folder of FOCUS files on this server, selected by a path pattern. Only in folders that the operator allows
(CONNECTION_FOLDERS)."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    CheckFinding,
    ConnectorConfig,
    SetupStep,
    SourceError,
)
from finops.connections.file_pattern import FilePattern
from finops.connections.pattern_files import (
    DefaultCurrency,
    Pattern,
    PatternConnector,
    Provider,
    billing_month_of,
    files_by_month,
)
from finops.connections.transports.bucket import BucketObject
from finops.connections.transports.local import LocalBucket, open_folder
from finops.costs.focus.normalise import FocusFile


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
    pattern: Pattern = "**/*"
    default_currency: DefaultCurrency = ""
    provider: Provider = ""


class FolderConnector(PatternConnector[FolderConfig]):
    name = "folder"
    title = "Folder on this server"
    provider = "Files"
    icon = "folder"
    docs_url = "https://focus.finops.org/focus-specification/"
    description = "FOCUS files as CSV, CSV.gz or Parquet."
    order = 900
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
                lambda: billing_month_of(_focus_file(bucket, months[newest][0]), config),
            )
        return checks.findings

    def _open(self, config: FolderConfig) -> LocalBucket:
        return open_folder(config.folder)

    def _pattern(self, config: FolderConfig) -> str:
        return config.pattern


def _some_months(
    bucket: LocalBucket, pattern: FilePattern, config: FolderConfig
) -> dict[date, list[BucketObject]]:
    months = files_by_month(bucket, pattern, config)
    if not months:
        raise SourceError(f"No file in {bucket.url} matches {pattern.text}.", field="pattern")
    return months


def _focus_file(bucket: LocalBucket, each: BucketObject) -> FocusFile:
    return FocusFile(bucket.path_of(each), each.key)
