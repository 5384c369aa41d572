"""Log files of a CloudTrail trail in its S3 bucket: `AWSLogs/[organization/]account/CloudTrail/region/YYYY/MM/DD/*.json.gz`.

The name of a log file has the minute of its delivery, so keys of an account and region sort by time. The connection's page cache
keeps what was read of a month: the change events, the newest key, and the keys of the LATE_HOURS before it, since a file may appear
later than files of a later minute. The next listing starts there. Without the cache the month is read again, with the same result.

A log file may have events of any time before its delivery. Events delivered more than a day after the end of their month are lost.
Source: docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-log-file-examples.html.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec

from finops.connections.connector import Fetch, SourceError
from finops.connections.transports.bucket import BucketObject, shown_key
from finops.connections.transports.event_lines import PulledEvent
from finops.connections.transports.page_cache import CachedPage, PageCache
from finops.connections.transports.recent_months import first_open_month
from finops.connections.transports.s3 import S3Bucket
from finops.connections.vendor_apis.cloudtrail import TrailResource, change_event, is_change
from finops.connections.vendor_apis.trail_resources import resources_of
from finops.lib import clock, time_limit
from finops.lib.errors import INVALID_JSON
from finops.lib.periods import add_months

MAX_FOLDERS: Final = 1_000
"""The most pairs of account and region."""
MAX_FILES: Final = 1_000_000
"""The most log files of a month that one fetch reads."""
MAX_FILE_BYTES: Final = 16 * 1024**2
MAX_TEXT_BYTES: Final = 64 * 1024**2
"""The most uncompressed bytes of a log file; CloudTrail's own limit is 50 MB."""
MAX_RECORDS: Final = 200_000
"""The most events of a log file."""
LATE_HOURS: Final = 6
SPILL_DAYS: Final = 1
"""Days of the next month whose log files are read for events of this one."""
READERS: Final = 8
AHEAD: Final = 2 * READERS
LINES_TOGETHER: Final = 1_000
FORGET_EACH: Final = 5_000
ADVICE: Final = "Enter fewer accounts or regions."
_FORMAT: Final = "1"
"""Part of the cache's key. Change it to read months again after the reading of log files changed."""

_ACCOUNT: Final = re.compile(r"[0-9]{12}")
_ORGANIZATION: Final = re.compile(r"o-[a-z0-9]{10,32}")
_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_KEY: Final = re.compile(
    r".*/([0-9]{4})/([0-9]{2})/([0-9]{2})/[0-9]{12}_CloudTrail_[a-z0-9-]+_(\1\2\3T[0-9]{4})Z_[A-Za-z0-9]+\.json\.gz"
)
_TIME: Final = "%Y%m%dT%H%M"


@dataclass(frozen=True)
class TrailFolder:
    """The folder of an account's log files of a region; the path ends with a slash."""

    account: str
    region: str
    path: str

    def key(self, moment: datetime) -> str:
        """Return a key that sorts before the log files that are delivered from this minute on."""
        return f"{self.path}{moment:%Y/%m/%d}/{self.account}_CloudTrail_{self.region}_{moment:{_TIME}}"


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    event_name: str
    event_source: str
    event_time: datetime
    event_id: str = msgspec.field(name="eventID")
    read_only: bool | None = None
    management_event: bool | None = None
    event_category: str = "Management"
    error_code: str | None = ""


class _Parameters(msgspec.Struct, frozen=True, rename="camel"):
    request_parameters: Any = None
    response_elements: Any = None


class _LogFile(msgspec.Struct, frozen=True):
    records: list[msgspec.Raw] = msgspec.field(name="Records")


_decode_file: Final = msgspec.json.Decoder(_LogFile).decode
_decode_record: Final = msgspec.json.Decoder(_Record).decode
_decode_parameters: Final = msgspec.json.Decoder(_Parameters).decode
_decode_event: Final = msgspec.json.Decoder(PulledEvent).decode


class _NewFile(NamedTuple):
    """A log file that was not read yet, with a digest of its key and version, and the minute in its name."""

    item: BucketObject
    number: int
    minute: str


class FolderMonth(msgspec.Struct, array_like=True):
    """The cached state of a folder and month. `lines` are change events as compressed JSON; `digest` covers the keys of all files,
    in any order; `recent` are the files of the last hours, to distinguish late files from those already read."""

    newest: str = ""
    """Minute in the name of the newest file."""
    digest: int = 0
    files: int = 0
    recent: dict[str, int] = {}
    lines: list[bytes] = []
    unreadable_files: int = 0
    unreadable_records: int = 0
    example: str = ""
    """The first file that could not be read, and the reason."""

    @property
    def start(self) -> datetime | None:
        """The time from which a listing searches for new files; None for the start of the month."""
        if not self.newest:
            return None
        return min(_time_of(self.newest), clock.now()) - timedelta(hours=LATE_HOURS)

    def add(self, file: _NewFile) -> None:
        self.newest = max(self.newest, file.minute)
        self.digest ^= file.number
        self.files += 1
        self.recent[file.item.key] = file.number
        if self.files % FORGET_EACH == 0:
            self.forget_old()

    def forget_old(self) -> None:
        start = self.start
        if start is not None:
            oldest = f"{start:{_TIME}}"
            self.recent = {key: number for key, number in self.recent.items() if _minute_of(key) >= oldest}

    def events(self) -> Iterator[PulledEvent]:
        for chunk in self.lines:
            yield from map(_decode_event, zlib.decompress(chunk).splitlines())


@dataclass(frozen=True)
class TrailBucket:
    """The log files below the prefix of a trail. Methods raise the errors of `S3Bucket`."""

    bucket: S3Bucket
    pages: PageCache
    accounts: Sequence[str] = ()
    regions: Sequence[str] = ()
    """Regions to read; empty: all."""

    def folders(self) -> list[TrailFolder]:
        """Return the folders of the chosen accounts and regions. Raises SourceError if there are none, and above MAX_FOLDERS."""
        folders: list[TrailFolder] = []
        for parent, account in self._accounts():
            if self.accounts and account not in self.accounts:
                continue
            path = f"{parent}{account}/CloudTrail/"
            for region in self.bucket.folders(path):
                if _REGION.fullmatch(region) and (not self.regions or region in self.regions):
                    folders.append(TrailFolder(account, region, f"{path}{region}/"))
            if len(folders) > MAX_FOLDERS:
                raise SourceError(f"The trail has more than {MAX_FOLDERS:,} accounts and regions. {ADVICE}")
        if not folders:
            raise SourceError(
                f"{self.bucket.url} has no log files of these accounts and regions in AWSLogs/ACCOUNT/CloudTrail/REGION/. "
                "Check the prefix of the trail. CloudTrail delivers the first files within 15 minutes.",
                field="prefix",
            )
        return folders

    def _accounts(self) -> Iterator[tuple[str, str]]:
        for name in self.bucket.folders("AWSLogs/"):
            if _ACCOUNT.fullmatch(name):
                yield "AWSLogs/", name
            elif _ORGANIZATION.fullmatch(name):
                parent = f"AWSLogs/{name}/"
                yield from (
                    (parent, each) for each in self.bucket.folders(parent) if _ACCOUNT.fullmatch(each)
                )

    def newest_file(self, folder: TrailFolder) -> BucketObject | None:
        """Return the last file of the newest day with files; a few requests."""
        path = folder.path
        for _level in ("year", "month", "day"):
            names = [name for name in self.bucket.folders(path) if name.isdecimal()]
            if not names:
                return None
            path = f"{path}{names[-1]}/"
        files = [each for each in self.bucket.objects(path) if _minute_of(each.key)]
        return files[-1] if files else None

    def fingerprint(self, folders: Sequence[TrailFolder], month: date) -> list[str]:
        """Return a line for each folder with files, which changes with each new file."""
        lines = []
        for folder in folders:
            read = self._read_before(folder, month)
            digest, files = read.digest, read.files
            for each in self._new_files(folder, month, read):
                digest, files = digest ^ each.number, files + 1
            if files:
                lines.append(f"{folder.path} {digest:x} {files}")
        return lines

    def events(self, folders: Sequence[TrailFolder], month: date, fetch: Fetch) -> Iterator[PulledEvent]:
        """Yield the change events of the month: cached ones, and those of new files. Adds notes about unreadable
        files and records."""
        unreadable = _Unreadable()
        is_open = month >= first_open_month()
        with ThreadPoolExecutor(READERS, thread_name_prefix="trail") as pool:
            reader = _Reader(self.bucket, fetch, pool)
            for folder in folders:
                read = self._read_before(folder, month)
                try:
                    reader.read(folder, self._new_files(folder, month, read), read)
                finally:
                    # Keep what was read if another file fails: the next attempt continues there. A month that is read once is not
                    # cached, because its page would displace those that each listing needs.
                    if is_open:
                        self._keep(folder, month, read)
                unreadable.add(read)
                yield from read.events()
        fetch.notes += unreadable.notes

    def _new_files(self, folder: TrailFolder, month: date, read: FolderMonth) -> Iterator[_NewFile]:
        """Yield log files of the month that were not read yet."""
        start = datetime.combine(month, datetime.min.time(), UTC)
        end = datetime.combine(add_months(month, 1) + timedelta(days=SPILL_DAYS), datetime.min.time(), UTC)
        first, numbers = max(start, read.start or start), dict(read.recent)
        last = f"{folder.path}{end:%Y/%m/%d}/"
        for item in self.bucket.objects_after(folder.path, folder.key(first)):
            if item.key >= last:
                return
            minute, number = _minute_of(item.key), _number(item)
            if minute and numbers.get(item.key) != number:
                yield _NewFile(item, number, minute)

    def _read_before(self, folder: TrailFolder, month: date) -> FolderMonth:
        page = self.pages.find(self._url(folder, month))
        if page is None:
            return FolderMonth()
        self.pages.touch(self._url(folder, month))
        try:
            return msgspec.msgpack.decode(page.body, type=FolderMonth)
        except msgspec.DecodeError:
            return FolderMonth()

    def _keep(self, folder: TrailFolder, month: date, read: FolderMonth) -> None:
        read.forget_old()
        page = CachedPage("", "", msgspec.msgpack.encode(read), int(clock.now().timestamp()))
        self.pages.put(self._url(folder, month), page)

    def _url(self, folder: TrailFolder, month: date) -> str:
        return f"{self.bucket.url}/{folder.path}{month:%Y-%m}#{_FORMAT}"


class _Reader:
    """Reads the new files of one month, a few concurrently and in advance; their events stay in order."""

    def __init__(self, bucket: S3Bucket, fetch: Fetch, pool: ThreadPoolExecutor) -> None:
        self._bucket, self._fetch, self._pool = bucket, fetch, pool
        self._files = 0
        self._ahead: deque[tuple[_NewFile, Future[bytes]]] = deque()
        self._lines: list[bytes] = []

    def read(self, folder: TrailFolder, files: Iterator[_NewFile], read: FolderMonth) -> None:
        """Add the files to the cached state. Raises SourceError above MAX_FILES."""
        try:
            for each in files:
                self._files += 1
                if self._files > MAX_FILES:
                    raise SourceError(f"The month has more than {MAX_FILES:,} new log files. {ADVICE}")
                self._ahead.append((each, self._pool.submit(self._content, each.item)))
                if len(self._ahead) >= AHEAD:
                    self._take(folder, read)
            while self._ahead:
                self._take(folder, read)
        finally:
            while self._ahead:
                self._ahead.pop()[1].cancel()
            self._pack(read)

    def _content(self, item: BucketObject) -> bytes:
        """Return the content; empty for a file above the limit, which is not read."""
        return self._bucket.read(item, MAX_FILE_BYTES) if item.bytes <= MAX_FILE_BYTES else b""

    def _take(self, folder: TrailFolder, read: FolderMonth) -> None:
        file, content = self._ahead.popleft()
        self._lines.extend(_lines(file.item, content.result(), folder, read))
        read.add(file)
        self._fetch.progress(file.item.bytes)
        if len(self._lines) >= LINES_TOGETHER:
            self._pack(read)

    def _pack(self, read: FolderMonth) -> None:
        if self._lines:
            read.lines.append(zlib.compress(b"\n".join(self._lines)))
            self._lines = []


class _Unreadable:
    """Counts of unreadable files and records, for the notes of a month."""

    def __init__(self) -> None:
        self.files = self.records = 0
        self.example = ""

    def add(self, read: FolderMonth) -> None:
        self.files += read.unreadable_files
        self.records += read.unreadable_records
        self.example = self.example or read.example

    @property
    def notes(self) -> list[str]:
        notes = []
        if self.files:
            notes.append(f"{self.files:,} log files cannot be read and were left out. First: {self.example}.")
        if self.records:
            notes.append(f"{self.records:,} records of log files cannot be read and were left out.")
        return notes


def check_file(item: BucketObject, content: bytes) -> None:
    """Check a log file. Raises SourceError if it cannot be read."""
    read = FolderMonth()
    list(_lines(item, content, TrailFolder("", "", ""), read))
    if read.unreadable_files:
        raise SourceError(f"The log file cannot be read: {read.example}.")


def _lines(item: BucketObject, content: bytes, folder: TrailFolder, read: FolderMonth) -> Iterator[bytes]:
    """Yield the change events of a log file as JSON. Unreadable records are counted."""
    try:
        records = _records(item, content)
    except (_UnreadableFile, zlib.error, *INVALID_JSON) as error:
        read.unreadable_files += 1
        reason = str(error) if isinstance(error, _UnreadableFile) else "no log file of CloudTrail"
        read.example = read.example or f"{shown_key(item.key)} ({reason})"
        return
    for raw in records:
        time_limit.check()
        try:
            event = _event_of(raw, folder)
        except INVALID_JSON:
            read.unreadable_records += 1
        else:
            if event is not None:
                yield event.line


class _UnreadableFile(Exception):
    pass


def _records(item: BucketObject, content: bytes) -> list[msgspec.Raw]:
    if item.bytes > MAX_FILE_BYTES:
        raise _UnreadableFile(f"more than {MAX_FILE_BYTES >> 20} MiB")
    gzip = zlib.decompressobj(wbits=31)
    text = gzip.decompress(content, MAX_TEXT_BYTES + 1)
    if len(text) > MAX_TEXT_BYTES:
        raise _UnreadableFile(f"more than {MAX_TEXT_BYTES >> 20} MiB uncompressed")
    if not gzip.eof:
        raise _UnreadableFile("not a complete gzip file")
    records = _decode_file(text).records
    if len(records) > MAX_RECORDS:
        raise _UnreadableFile(f"more than {MAX_RECORDS:,} events")
    return records


def _event_of(raw: msgspec.Raw, folder: TrailFolder) -> PulledEvent | None:
    """Return the change event of a record; None for reading calls, data events, and records without a change event."""
    record = _decode_record(raw)
    if record.read_only or record.management_event is False or record.event_category != "Management":
        return None
    if not is_change(record.event_name, record.error_code or ""):
        return None
    calls = _decode_parameters(raw)
    resources = resources_of(
        record.event_source, record.event_name, calls.request_parameters, calls.response_elements
    )
    named = [TrailResource(*each) for each in resources]
    return change_event(record.event_id, record.event_time, raw, named, folder.account)


def _minute_of(key: str) -> str:
    """Return the minute in the name of a log file; empty for any other object."""
    match = _KEY.fullmatch(key)
    try:
        return f"{_time_of(match[4]):{_TIME}}" if match else ""
    except ValueError:
        return ""


def _time_of(minute: str) -> datetime:
    """Parse a minute. Raises ValueError for an invalid day or time."""
    return datetime.strptime(minute, _TIME).replace(tzinfo=UTC)


def _number(item: BucketObject) -> int:
    text = f"{item.key}|{item.version}".encode(errors="replace")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
