"""Change events in a folder of this server: JSON lines, one or more files per month. Only in folders that the
operator allows (CONNECTION_FOLDERS)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from finops.change_events.event_rules import with_occurred_at
from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    ConfigError,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SetupStep,
    SourceError,
)
from finops.connections.file_pattern import FilePattern
from finops.connections.pattern_files import files_by_month
from finops.connections.transports.bucket import BucketObject, objects_fingerprint
from finops.connections.transports.event_lines import MAX_EVENTS
from finops.connections.transports.local import LocalBucket, open_folder
from finops.costs.focus.normalise import FocusFile
from finops.lib.periods import month_start
from ingestion.timestamps import parse_timestamp

_LONGEST_LINE: Final = 65_536


class EventFolderConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A folder and which files in it."""

    folder: Annotated[
        str,
        msgspec.Meta(
            title="Folder",
            description="Absolute path on this server.",
            examples=["/srv/events"],
            min_length=1,
            max_length=500,
        ),
    ]
    pattern: Annotated[
        str,
        msgspec.Meta(
            title="Files",
            description="Path below the folder. * matches any text. {year} and {month}, or {yyyymm}, mark the month of the events.",
            examples=["{year}-{month}.jsonl"],
            min_length=1,
            max_length=300,
        ),
    ] = "{year}-{month}.jsonl"

    def __post_init__(self) -> None:
        if "{month}" not in self.pattern and "{yyyymm}" not in self.pattern:
            raise ConfigError("Mark the month, for example {year}-{month}.jsonl", field="pattern")


class EventFolder(Connector[EventFolderConfig]):
    name = "folder_events"
    title = "Folder of change events"
    provider = "Files"
    icon = "folder"
    description = "Change events as JSON lines, in the format of POST /api/events."
    docs_url = "https://jsonlines.org/"
    order = 940
    contents = Contents.CHANGE_EVENTS
    Config = EventFolderConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Allow the folder",
                "Set on this server. Nothing outside these folders is read, not even through links.",
                "CONNECTION_FOLDERS=/srv/events",
                "sh",
            ),
            SetupStep(
                "Write complete files",
                "One event a line, with event_id and occurred_at. Write each file under a temporary name, then rename it.",
                '{"event_id": "deploy-142", "occurred_at": "2026-05-12T10:00:00Z", "kind": "deployment", "title": "checkout v142"}',
                "json",
            ),
        )

    def check(self, config: EventFolderConfig) -> list[CheckFinding]:
        with check_list() as checks:
            bucket = checks.attempt(f"Open {config.folder}", lambda: open_folder(config.folder))
            months = checks.attempt(
                f"Find files matching {config.pattern}", lambda: _some_files(bucket, config)
            )
            newest = max(months)
            checks.attempt(
                f"Read the events of {newest:%Y-%m}",
                lambda: _first_event(bucket, months[newest], newest),
            )
        return checks.findings

    def months(self, config: EventFolderConfig) -> list[BillMonth]:
        files = _files(open_folder(config.folder), config)
        return [BillMonth(month, objects_fingerprint(own)) for month, own in sorted(files.items())]

    def fetch(self, config: EventFolderConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """Write the events of the month. An event without an ID or of another month is left out and counted, since
        later syncs could not find it again. Raises SourceError beyond MAX_EVENTS."""
        bucket = open_folder(config.folder)
        path, count, left_out = fetch.folder / "month.jsonl", 0, 0
        sources = bucket.download_month(_files(bucket, config).get(month.month, []), fetch)
        with path.open("wb") as target:
            for source in sources:
                for line, is_own in _lines(source.path, month.month):
                    left_out += not is_own
                    count += is_own
                    if count > MAX_EVENTS:
                        raise SourceError(f"The month has more than {MAX_EVENTS:,} events, the limit.")
                    if is_own:
                        target.write(line + b"\n")
        if left_out:
            fetch.notes.append(
                f"{left_out:,} lines were left out: no JSON, no event_id, no occurred_at, or another month."
            )
        return [FocusFile(path, path.name)] if count else []


def _files(bucket: LocalBucket, config: EventFolderConfig) -> Mapping[date, Sequence[BucketObject]]:
    return files_by_month(bucket, FilePattern.parse(config.pattern), config)


def _some_files(bucket: LocalBucket, config: EventFolderConfig) -> Mapping[date, Sequence[BucketObject]]:
    files = _files(bucket, config)
    if not files:
        raise SourceError(f"No file in {bucket.url} matches {config.pattern}.", field="pattern")
    return files


def _first_event(bucket: LocalBucket, files: Sequence[BucketObject], month: date) -> None:
    """Check that the month has an event. Raises SourceError if it has none."""
    lines = (is_own for each in files for _line, is_own in _lines(bucket.path_of(each), month))
    if not any(lines):
        raise SourceError("No line is an event with event_id and occurred_at in the month of its file.")


def _lines(path: Path, month: date) -> Iterator[tuple[bytes, bool]]:
    """Yield each line that is not blank, and whether it is an event of the month with an id."""
    with path.open("rb") as file:
        while line := file.readline(_LONGEST_LINE):
            if line.strip():
                yield line.rstrip(b"\r\n"), _is_of(line, month)


def _is_of(line: bytes, month: date) -> bool:
    try:
        fields: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    if not isinstance(fields, dict) or not fields.get("event_id"):
        return False
    moment = with_occurred_at(fields).get("occurred_at")
    parsed = parse_timestamp(moment) if isinstance(moment, str) else None
    return parsed is not None and month_start(parsed.astimezone(UTC).date()) == month
