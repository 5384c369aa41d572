"""Questions that are too large for one machine, over the Spark Connect protocol: one session an account, on the
cluster of SPARK_REMOTE.

The cluster reads the lake's files itself, from shared storage; paths come only from the manifest. The protocol's
client would wait forever for a server that is gone or hangs, so each statement runs in a thread of its own that is
abandoned at the question's deadline. pyspark is imported with the first such question.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import pyarrow as pa
from django.conf import settings

from finops.lake import schema as schemas
from finops.lake.engine import spark_conversion, spark_sql
from finops.lake.engine.compiler import Currency, Query
from finops.lake.engine.errors import (
    NARROW_ADVICE,
    LakeBusy,
    LakeTimeout,
    LakeTooLarge,
    LakeUnavailable,
    UnreadableFile,
)
from finops.lake.storage.manifest import SegmentFile
from finops.lib.bulkheads import Bulkhead, Busy

T = TypeVar("T")

MAX_SESSIONS: Final = 16
"""Sessions of a process, one an account; the least recently used one is closed."""
CONCURRENCY: Final = 8
"""Statements of a process that the cluster runs at the same time."""
INTERRUPT_SECONDS: Final = 2.0
"""How long the cluster may take to cancel a statement past its deadline."""
CHANNEL_OPTIONS: Final = [("grpc.use_local_subchannel_pool", 1)]
"""Make a new session connect at once; otherwise it inherits the back-off of earlier sessions from when the cluster
was gone."""
CONFIGURATION: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    # A sum that does not fit is an error. Sail wraps instead, so sums are proven to fit before (`magnitudes`).
    "spark.sql.ansi.enabled": "true",
}


def is_configured() -> bool:
    """Whether a cluster is configured."""
    return bool(settings.SPARK_REMOTE)


def execute(
    *,
    account_id: int,
    query: Query,
    files: Sequence[SegmentFile],
    start: date,
    end: date,
    waiting: pa.Table | None,
    currency: Currency | None,
    deadline: float,
) -> pa.Table:
    """The result over these files of the lake and over `waiting`, with the types of the expression.

    Raises LakeBusy if too many statements run, LakeTimeout past the deadline (monotonic seconds), LakeTooLarge,
    UnreadableFile for a missing file, and LakeUnavailable while the cluster does not answer.
    """

    present: frozenset[str] = frozenset().union(*(file.columns for file in files))
    of_days = currency.rates if files and currency is not None else None
    rates = of_days.table if of_days else None

    def run(session: Any) -> pa.Table:
        with _views(session, query, files, present, waiting, rates) as (lines, events, by_day):
            statement = spark_sql.statement(
                query,
                start,
                end,
                files=lines,
                waiting=events,
                present=present,
                currency=currency,
                rates=by_day,
            )
            table: pa.Table = session.sql(statement.sql).toArrow()
        return table.rename_columns(list(statement.columns)).cast(query.result)

    return _cluster().call(account_id, run, deadline)


@contextmanager
def _views(
    session: Any,
    query: Query,
    files: Sequence[SegmentFile],
    present: frozenset[str],
    waiting: pa.Table | None,
    rates: pa.Table | None,
) -> Iterator[tuple[str | None, str | None, str | None]]:
    """Create temporary views of the files, waiting events and exchange rates, under names that no other statement
    uses."""
    names: list[str | None] = [None, None, None]
    try:
        if files:
            names[0] = f"files_{uuid.uuid4().hex}"
            # With an explicit schema no file is opened to infer it, and a column that is missing in a file is null.
            reader = session.read.schema(_schema(query, present))
            lines = reader.parquet(*(_url(file.rollup[0] if file.rollup else file.path) for file in files))
            # Sail silently skips a missing file, so count first, which reads the footers of the files.
            if lines.count() != sum(file.rows for file in files):
                raise UnreadableFile("the cluster reads other rows than the manifest has")
            lines.createOrReplaceTempView(names[0])
        if waiting is not None:
            names[1] = f"waiting_{uuid.uuid4().hex}"
            session.createDataFrame(waiting).createOrReplaceTempView(names[1])
        if rates is not None:
            names[2] = f"rates_{uuid.uuid4().hex}"
            columns = rates.select(spark_conversion.RATE_COLUMNS)
            session.createDataFrame(columns).createOrReplaceTempView(names[2])
        yield names[0], names[1], names[2]
    finally:
        for name in filter(None, names):
            with suppress(Exception):  # the session may have ended, with its views
                session.catalog.dropTempView(name)


def _schema(query: Query, present: frozenset[str]) -> str:
    types = {each.name: spark_sql.spark_type(each.type) for each in schemas.base_schema(query.kind)}
    day = schemas.day_column(query.kind)
    columns = [name for name in dict.fromkeys([*query.columns, "currency"]) if name in present]
    columns += [] if day in columns else [day]
    return ", ".join(f"`{name.replace('`', '``')}` {types.get(name, 'STRING')}" for name in columns)


def _url(path: str) -> str:
    base = settings.SPARK_LAKE_URL or settings.LAKE_URL
    root = base if "://" in base else f"file://{Path(base).resolve()}"
    return f"{root.rstrip('/')}/{quote(path)}"


@contextmanager
def _main_file() -> Iterator[None]:
    """Give `__main__` a file: pyspark mistakes a program without one, such as `python -c` or a pytest worker, for its
    doctests and exits."""
    main: Any = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = __file__
    try:
        yield
    finally:
        del main.__file__


@dataclass
class _Cluster:
    """The sessions of this process."""

    remote: str
    sessions: OrderedDict[int, Any] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    slots: Bulkhead = field(
        default_factory=lambda: Bulkhead("spark", size=CONCURRENCY, reserved=CONCURRENCY // 4)
    )
    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(CONCURRENCY * 2, thread_name_prefix="spark")
    )

    def call(self, account_id: int, run: Callable[[Any], T], deadline: float) -> T:
        """Run `run` with the account's session. Raises LakeBusy if no slot became free in time, LakeTimeout past the
        deadline, and the errors of `execute`."""
        try:
            self.slots.acquire(account_id, deadline - time.monotonic())
        except Busy as error:
            raise LakeBusy("The server is busy with other queries. Try again.") from error
        tag = uuid.uuid4().hex
        future = self.threads.submit(self._run, account_id, run, tag)
        # The slot is free when the thread ends: a thread that hangs keeps it.
        future.add_done_callback(lambda _: self.slots.release(account_id))
        try:
            return future.result(timeout=max(0.0, deadline - time.monotonic()))
        except FutureTimeoutError as error:
            self._interrupt(account_id, tag)
            raise LakeTimeout(f"The query timed out. {NARROW_ADVICE}") from error

    def _run(self, account_id: int, run: Callable[[Any], T], tag: str) -> T:
        try:
            session = self._session(account_id)
            session.addTag(tag)
            try:
                return run(session)
            finally:
                session.removeTag(tag)
        except Exception as error:
            raise self._user_error(account_id, error) from error

    def _session(self, account_id: int) -> Any:
        with self.lock:
            if account_id not in self.sessions:
                self.sessions[account_id] = self._connect(account_id)
            self.sessions.move_to_end(account_id)
            ended = self.sessions.popitem(last=False)[1] if len(self.sessions) > MAX_SESSIONS else None
            session = self.sessions[account_id]
        if ended is not None:
            self._end(ended)
        return session

    def _connect(self, account_id: int) -> Any:
        with _main_file():
            from pyspark.sql.connect.client import (
                DefaultChannelBuilder,
            )  # the import takes half a second
            from pyspark.sql.connect.client.retries import DefaultPolicy
            from pyspark.sql.connect.session import SparkSession

        # pyspark warns in addition to raising the error.
        warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
        separator = "" if self.remote.endswith(("/", ";")) else "/;" if self.remote.count("/") < 3 else ";"
        channel = DefaultChannelBuilder(
            f"{self.remote}{separator}user_id=account-{account_id}", channelOptions=CHANNEL_OPTIONS
        )
        session = SparkSession.builder.channelBuilder(channel).create()
        # By default 15 retries in ten minutes.
        session.client.set_retry_policies([DefaultPolicy(max_retries=2, max_backoff=1_000)])
        for name, value in CONFIGURATION.items():
            session.conf.set(name, value)
        return session

    def _interrupt(self, account_id: int, tag: str) -> None:
        session = self.sessions.get(account_id)
        if session is None:
            return
        interrupt = self.threads.submit(session.interruptTag, tag)
        with suppress(Exception):  # only the end of the statement matters, and the cluster may be unreachable
            interrupt.result(timeout=INTERRUPT_SECONDS)

    def _end(self, session: Any) -> None:
        def stop() -> None:
            with suppress(Exception):  # its server may have ended
                session.stop()

        self.threads.submit(stop)

    def _user_error(self, account_id: int, error: Exception) -> Exception:
        if isinstance(error, UnreadableFile):
            return error
        text = f"{type(error).__name__}: {error}"
        if any(mark in text for mark in _OVERFLOW_MARKS):
            return LakeTooLarge(f"The total is too large. {NARROW_ADVICE}")
        if any(mark in text for mark in _ACCESS_MARKS):
            return LakeUnavailable(
                "The Spark cluster may not read the lake's files. Give it read access to LAKE_URL."
            )
        if any(mark in text for mark in _FILE_MARKS):
            return UnreadableFile(text[:500])
        if any(mark in text for mark in _MEMORY_MARKS):
            return LakeTooLarge(f"The query exceeded the cluster's memory. {NARROW_ADVICE}")
        # After any other error the next question gets a new session.
        with self.lock:
            session = self.sessions.pop(account_id, None)
        if session is not None:
            self._end(session)
        if isinstance(error, ImportError):
            return LakeUnavailable("SPARK_REMOTE is set, but pyspark-client is not installed on this server.")
        if any(mark in text for mark in _CONNECTION_MARKS):
            return LakeUnavailable(
                f"The Spark cluster does not answer. Try again in a minute. {NARROW_ADVICE} "
                "This server then answers it itself."
            )
        return error

    def close(self) -> None:
        with self.lock:
            sessions, self.sessions = list(self.sessions.values()), OrderedDict()
        for session in sessions:
            self._end(session)
        self.threads.shutdown(wait=False)


_OVERFLOW_MARKS: Final = ("ARITHMETIC_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE")
_ACCESS_MARKS: Final = ("403 Forbidden", "AccessDenied", "Access Denied", "Status Code: 403")
_FILE_MARKS: Final = (
    "PATH_NOT_FOUND",
    "FAILED_READ_FILE",
    "No such file",
    "Object at location",
    "not found: ",
    "Invalid Parquet",
    "NoSuchKey",
)
_MEMORY_MARKS: Final = ("Resources exhausted", "OutOfMemory", "ResourcesExhausted")
_CONNECTION_MARKS: Final = (
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "RetriesExceeded",
    "failed to connect",
    "UNAUTHENTICATED",
    "Connection refused",
    "NO_ACTIVE_SESSION",
    "INVALID_HANDLE",
)

_clusters: dict[str, _Cluster] = {}
_clusters_lock = threading.Lock()


def _cluster() -> _Cluster:
    with _clusters_lock:
        if settings.SPARK_REMOTE not in _clusters:
            _clusters[settings.SPARK_REMOTE] = _Cluster(settings.SPARK_REMOTE)
        return _clusters[settings.SPARK_REMOTE]


def close() -> None:
    """Close every session at the end of the process."""
    with _clusters_lock:
        clusters = list(_clusters.values())
        _clusters.clear()
    for cluster in clusters:
        cluster.close()


def _forget_after_fork() -> None:
    """Make a child connect anew: gRPC does not survive a fork."""
    global _clusters, _clusters_lock
    _clusters, _clusters_lock = {}, threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
