"""FOCUS or native files in any bucket, selected by a path pattern, as complete months.

A file belongs to one month: that of its path, or else that of its first line. Its lines of other months are
corrections. Without a month in the path each new file is read to find it, so a pattern should include the month.
"""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Generic, TypeVar

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Fetch,
    MonthConflict,
    SourceError,
    SourceUnavailable,
)
from finops.connections.daily_snapshots import snapshot_note
from finops.connections.file_months import file_months
from finops.connections.file_pattern import FilePattern
from finops.connections.transports.bucket import (
    BucketObject,
    StorageBucket,
    local_name,
    objects_fingerprint,
    shown_key,
)
from finops.connections.transports.local import LocalBucket
from finops.costs.focus.archives import unpack
from finops.costs.focus.normalise import FocusFile
from finops.costs.focus.open_files import first_billing_month
from finops.lib.disk import check_disk

MAX_FILES_TO_READ: Final = 500
"""The most files without a month in their path. Files of this server have no limit, since they are read in place."""
MAX_CHECK_BYTES: Final = 64 << 20
"""The most bytes of a file that *Test connection* reads completely, while a person waits."""
MAX_SAMPLE_BYTES: Final = 256 << 20
"""The most bytes of a file that a page fetches to show its columns."""

PATTERNS: Final = (
    ("*/{year}/{month}/focus.csv", "OVHcloud: one file a month"),
    ("*/{year}/{month}/{day}/focus.csv", "OVHcloud: one file a day"),
    ("*/{year}/{month}/{day}/{hour}/focus.csv", "OVHcloud: one file an hour"),
    ("ibm-focus-{yyyymm}.csv", "IBM Cloud: FOCUS reports by month"),
    ("date={yyyymm}-??/**", "LiteLLM"),
    ("*_{yyyymm}.zip", "Alibaba Cloud: archives by month"),
    ("FOCUS-bill_details-*-{yyyymm}.CSV", "Tencent Cloud: closed months"),
    ("**/*", "All files"),
)
"""Suggested patterns, by the paths of providers below the folder of an export. Sources: OVHcloud, "Exporting billing
data to a bucket"; IBM Cloud, "Exporting usage data in FOCUS format" (by API, so the name is our own); LiteLLM,
integrations/focus; Tencent, "Store bills in COS buckets"."""

Pattern = Annotated[
    str,
    msgspec.Meta(
        title="Files",
        description="Path below the folder. * matches any text, ** any folders. {year} and {month}, or {yyyymm}, mark the billing "
        "month; without them it is read from the file. Of files with {day} or {hour}, only the newest of a month are read.",
        examples=["{year}/{month}/*.parquet", "bill_{yyyymm}{day}.csv"],
        min_length=1,
        max_length=300,
        extra_json_schema={"suggestions": PATTERNS},
    ),
]

DefaultCurrency = Annotated[
    str,
    msgspec.Meta(
        title="Currency of files without one",
        description="A code such as USD, for files without a currency, such as OpenCost's.",
        examples=["USD"],
        pattern=r"^([A-Z]{3})?$",
    ),
]

FilesFolder = Annotated[
    str,
    msgspec.Meta(
        title="Folder",
        description="Folder of the files. Leave empty for the whole bucket.",
        examples=["focus"],
        max_length=500,
    ),
]

Provider = Annotated[
    str,
    msgspec.Meta(
        title="Provider",
        description="Shown until the first sync. Then the provider of the cost lines is shown.",
        examples=["Oracle"],
        max_length=60,
    ),
]

P = TypeVar("P", bound=ConnectorConfig)


class PatternConnector(Connector[P], Generic[P]):
    """A connector whose files are selected by a pattern."""

    takes_any_columns = True

    @abstractmethod
    def _open(self, config: P) -> StorageBucket:
        """Return the bucket. Raises SourceError, AccessError and SourceUnavailable."""

    @abstractmethod
    def _pattern(self, config: P) -> str:
        """Return the text of the pattern."""

    def check(self, config: P) -> list[CheckFinding]:
        with check_list() as checks:
            pattern = checks.attempt("Read the pattern", partial(FilePattern.parse, self._pattern(config)))
            bucket = checks.attempt("Sign in", partial(self._open, config))
            with bucket:
                objects = checks.attempt(f"List {bucket.url}", bucket.objects)
                files = checks.attempt(
                    f"Find files matching {pattern.text}", partial(_some_files, bucket, pattern, objects)
                )
                small = [each for each in files if each.bytes <= MAX_CHECK_BYTES]
                newest = max(small or files, key=lambda each: (each.modified, each.key))
                name = shown_key(newest.key)
                if small:
                    checks.attempt(f"Read {name}", partial(_month_inside, bucket, newest, config))
                else:
                    checks.attempt(f"Read the beginning of {name}", partial(bucket.head, newest))
        return checks.findings

    def months(self, config: P) -> list[BillMonth]:
        with self._open(config) as bucket:
            months = files_by_month(bucket, FilePattern.parse(self._pattern(config)), config)
        return [
            BillMonth(month, objects_fingerprint(files), sum(each.bytes for each in files))
            for month, files in sorted(months.items())
        ]

    def fetch(self, config: P, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        pattern = FilePattern.parse(self._pattern(config))
        with self._open(config) as bucket:
            months = files_by_month(bucket, pattern, config)
            files = bucket.download_month(months.get(month.month, []), fetch)
        if not pattern.has_day and (note := snapshot_note(files, config)):
            fetch.notes.append(note)
        return files

    def newest_file(self, config: P, folder: Path) -> FocusFile:
        with self._open(config) as bucket:
            return newest_file(bucket, FilePattern.parse(self._pattern(config)), folder)


def newest_file(bucket: StorageBucket, pattern: FilePattern, folder: Path) -> FocusFile:
    """Download the most recently changed file of the pattern to `folder`. Raises SourceError if there is none or it
    is too large for a page; MonthConflict as `download` does."""
    files = _some_files(bucket, pattern, bucket.objects())
    newest = max(files, key=lambda each: (each.modified, each.key))
    if newest.bytes > MAX_SAMPLE_BYTES:
        raise SourceError(
            f"{shown_key(newest.key)} has {newest.bytes:,} bytes; at most {MAX_SAMPLE_BYTES:,} are fetched to look at. Upload a "
            "smaller file of the same columns."
        )
    check_disk(newest.bytes)
    path = folder / local_name(newest.key)
    bucket.download(newest, path, lambda _bytes: None)
    return unpack(FocusFile(path, newest.key), folder / "files", only_first=True)[0]


def _files(pattern: FilePattern, objects: Iterable[BucketObject]) -> list[BucketObject]:
    return [each for each in objects if each.bytes and pattern.matches(each.key)]


def _some_files(
    bucket: StorageBucket, pattern: FilePattern, objects: Iterable[BucketObject]
) -> list[BucketObject]:
    files = _files(pattern, objects)
    if not files:
        raise SourceError(f"No file in {bucket.url} matches {pattern.text}.", field="pattern")
    return files


def files_by_month(
    bucket: StorageBucket, pattern: FilePattern, config: ConnectorConfig
) -> dict[date, list[BucketObject]]:
    """Return the files of each month. Raises SourceError for a file whose month is unknown, UserError for one that
    cannot be read."""
    months: dict[date, list[BucketObject]] = defaultdict(list)
    unknown = []
    for each in _files(pattern, bucket.objects()):
        month = pattern.month_of(each.key)
        if month is None and pattern.has_month:
            raise SourceError(f"The path {shown_key(each.key)} has no valid month.", field="pattern")
        if month is None:
            unknown.append(each)
        else:
            months[month].append(each)
    if len(unknown) > MAX_FILES_TO_READ and not isinstance(bucket, LocalBucket):
        raise SourceError(
            f"{len(unknown):,} files have no month in their path; at most {MAX_FILES_TO_READ} are opened to find it. Use "
            "{year} and {month} in the pattern.",
            field="pattern",
        )
    with file_months(bucket.url, config) as stored:
        for each in unknown:
            month = stored.month_of(each, partial(_month_inside, bucket, each, config))
            if month is not None:
                months[month].append(each)
    return {month: _newest_snapshots(pattern, files) for month, files in months.items()}


def _newest_snapshots(pattern: FilePattern, files: list[BucketObject]) -> list[BucketObject]:
    """Return the newest files of each account or report if the pattern has a day, since these repeat the earlier
    ones; otherwise all files."""
    snapshots = [pattern.snapshot_of(each.key) for each in files]
    newest = dict(sorted(snapshots))  # the last of each account is the newest
    return [each for each, (owner, time) in zip(files, snapshots, strict=True) if newest[owner] == time]


def _month_inside(bucket: StorageBucket, item: BucketObject, config: ConnectorConfig) -> date | None:
    """Return the billing month of a file's first line. Raises UserError for a file that is not a bill."""
    try:
        return _read_month(bucket, item, config)
    except MonthConflict as error:
        raise SourceUnavailable(f"{error} The next sync reads it.") from error


def _read_month(bucket: StorageBucket, item: BucketObject, config: ConnectorConfig) -> date | None:
    if isinstance(bucket, LocalBucket):
        return billing_month_of(FocusFile(bucket.path_of(item), item.key), config)
    check_disk(item.bytes)
    with tempfile.TemporaryDirectory(prefix="finops-month-") as folder:
        path = Path(folder, local_name(item.key))
        bucket.download(item, path, lambda _bytes: None)
        return billing_month_of(FocusFile(path, item.key), config)


def billing_month_of(file: FocusFile, config: ConnectorConfig) -> date | None:
    """Return the billing month of the file's first line, or of the first file in an archive. Raises UserError for a
    file that is not a bill."""
    with tempfile.TemporaryDirectory(prefix="finops-month-") as folder:
        first = unpack(file, Path(folder), only_first=True)[0]
        return first_billing_month(first, config.column_mapping, config.defaults)
