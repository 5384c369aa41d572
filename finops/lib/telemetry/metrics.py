"""All metrics of the programs, by the naming conventions of Prometheus.

Off unless METRICS_TOKEN is set: then `inc` and `observe` return at once and prometheus_client is never imported. When on,
counts are stored in files that all processes of this machine share (`slots`), and each process can expose them all.

A label has few values, fixed in advance: never an account, a customer or text that people typed.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from finops.lib.telemetry.slots import Slots, exclusive, remove_stale_files, remove_stale_gauges

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{12}")
SAMPLE_SECONDS: Final = 5.0
"""Seconds between two samples of a process's gauges: slots, connections."""

instruments: Final[list[Instrument]] = []


@dataclass(eq=False)
class Instrument(ABC):
    """A metric. `kind` is prometheus_client's class."""

    kind: str
    name: str
    help: str
    labels: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    _parent: Any = None
    _children: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """Bound children by label values."""

    def __post_init__(self) -> None:
        instruments.append(self)

    @property
    def series(self) -> list[str]:
        """The names of the stored time series."""
        match self.kind:
            case "Histogram":
                return [f"{self.name}_{part}" for part in ("bucket", "sum", "count")]
            case "Summary":
                return [f"{self.name}_{part}" for part in ("sum", "count")]
            case _:
                return [self.name]

    def _child(self, values: tuple[str, ...]) -> Any:
        """Return the bound child for these label values and store it in `_children`."""
        child = self._parent.labels(*values) if values else self._parent
        return self._children.setdefault(values, self._bound(child))

    @abstractmethod
    def _bound(self, child: Any) -> Any:
        """Return the part of a prometheus_client child that each count calls. Its methods take twice the time, for checks of
        arguments and label values."""

    def enable(self, module: Any, registry: Any) -> None:
        self._children = {}
        self._parent = getattr(module, self.kind)(
            self.name, self.help, self.labels, registry=registry, **self.options
        )

    def disable(self) -> None:
        self._parent, self._children = None, {}


class Counter(Instrument):
    """A count. Those of the label values in `zeros` are exposed from the start, so that a first rise is seen as one."""

    def __init__(self, name: str, help: str, *labels: str, zeros: tuple[str, ...] = ()) -> None:  # noqa: A002 - Prometheus's own word
        super().__init__("Counter", name, help, labels)
        self._zeros = zeros

    def enable(self, module: Any, registry: Any) -> None:
        super().enable(module, registry)
        for value in self._zeros:
            self._child((value,))

    def inc(self, *values: str, by: float = 1) -> None:
        if by and self._parent is not None:
            (self._children.get(values) or self._child(values))(by)

    def _bound(self, child: Any) -> Any:
        return child._value.inc


class Distribution(Instrument):
    """Seconds, as a histogram, or as sum and count only where there are many series."""

    def __init__(self, name: str, help: str, *labels: str, buckets: tuple[float, ...] = SECONDS) -> None:  # noqa: A002
        kind, options = ("Histogram", {"buckets": buckets}) if buckets else ("Summary", {})
        super().__init__(kind, name, help, labels, options)

    def observe(self, seconds: float, *values: str) -> None:
        if self._parent is not None:
            total, bounds, counts = self._children.get(values) or self._child(values)
            total(seconds)
            counts[bisect_left(bounds, seconds)](1)

    def _bound(self, child: Any) -> Any:
        if self.kind == "Summary":
            return child._sum.inc, (), (child._count.inc,)
        return child._sum.inc, child._upper_bounds, tuple(bucket.inc for bucket in child._buckets)

    @contextmanager
    def time(self, *values: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self.observe(perf_counter() - start, *values)


class Gauge(Instrument):
    """A current value of a process, summed over the running processes."""

    def __init__(self, name: str, help: str, *labels: str) -> None:  # noqa: A002
        super().__init__("Gauge", name, help, labels, {"multiprocess_mode": "livesum"})

    def set(self, value: float, *values: str) -> None:
        if self._parent is not None:
            (self._children.get(values) or self._child(values))(value)

    def _bound(self, child: Any) -> Any:
        return child.set


REQUESTS: Final = Counter(
    "finops_http_requests_total", "Requests by endpoint and status.", "endpoint", "status"
)
REQUEST_SECONDS: Final = Distribution(
    "finops_http_request_duration_seconds", "From Django's first middleware to its last.", "endpoint"
)
PAGE_SECONDS: Final = Distribution(
    "finops_page_duration_seconds", "Pages, by the name of their URL.", "view", buckets=()
)
MCP_CALLS: Final = Counter("finops_mcp_calls_total", "Tools and prompts by outcome.", "tool", "outcome")
MCP_SECONDS: Final = Distribution("finops_mcp_call_duration_seconds", "Tools and prompts.", "tool")
EVENTS: Final = Counter(
    "finops_usage_events_total",
    "Pushed events: accepted, duplicate, rejected.",
    "outcome",
    zeros=("accepted", "duplicate", "rejected"),
)
LAKE_QUERIES: Final = Counter("finops_lake_queries_total", "Queries of facts by outcome.", "kind", "outcome")
LAKE_SECONDS: Final = Distribution(
    "finops_lake_query_duration_seconds", "Queries that DuckDB ran, with the wait for a turn.", "kind"
)
LAKE_BYTES: Final = Counter(
    "finops_lake_query_file_bytes_total", "Size of the files of queries that DuckDB ran.", "kind"
)
RESULT_CACHE: Final = Counter("finops_lake_result_cache_requests_total", "Hits and misses.", "result")
RESULT_CACHE_BYTES: Final = Gauge("finops_lake_result_cache_bytes", "Size of the answers in the caches.")
FLUSHED: Final = Counter("finops_usage_flushed_events_total", "Events moved from the inbox to the lake.")
COMPACTIONS: Final = Counter("finops_lake_compactions_total", "Compactions of usage.")
COMPACTED_ROWS: Final = Counter("finops_lake_compacted_rows_total", "Rows that compactions wrote.")
IMPORTS: Final = Counter(
    "finops_cost_imports_total", "Imports of cost that ended, or wait for a review, by outcome.", "outcome"
)
COST_PUSHES: Final = Counter("finops_cost_pushes_total", "Pushes of cost that ended, by outcome.", "outcome")
USAGE_UPLOADS: Final = Counter(
    "finops_usage_uploads_total", "Uploads of usage that ended, by outcome.", "outcome"
)
SYNCS: Final = Counter("finops_cost_syncs_total", "Syncs of cost connections by outcome.", "outcome")
DELIVERIES: Final = Counter(
    "finops_alert_deliveries_total", "Attempts at alert deliveries by outcome.", "channel", "outcome"
)
TASKS: Final = Counter("finops_tasks_total", "Tasks of workers by outcome.", "task", "outcome")
TASK_SECONDS: Final = Distribution("finops_task_duration_seconds", "Tasks of workers.", "task", buckets=())
LANE_WAIT: Final = Distribution(
    "finops_worker_lane_wait_seconds",
    "From a task's message to its start.",
    "lane",
    buckets=(0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0),
)
LANE_WAITING: Final = Gauge("finops_worker_lane_waiting", "Tasks that wait for a thread.", "lane")
LOG_RECORDS: Final = Counter("finops_log_records_total", "Log records from WARNING on.", "level")
RUNNING_REQUESTS: Final = Gauge("finops_web_requests_running", "Requests that have a slot.", "bulkhead")
WAITING_REQUESTS: Final = Gauge("finops_web_requests_waiting", "Requests that wait for a slot.", "bulkhead")
POOL: Final = Gauge(
    "finops_database_pool_connections", "Connections to PostgreSQL, open and in use.", "state"
)
POOL_WAITING: Final = Gauge("finops_database_pool_waiting", "Threads that wait for a connection.")
BEAT_TICK: Final = Gauge("finops_beat_last_tick_timestamp_seconds", "Unix time of beat's last check.")
BEAT_DUE: Final = Gauge("finops_beat_entries_due", "Entries of its schedule that are due and not yet sent.")
BEAT_SENT: Final = Counter("finops_beat_messages_total", "Messages that beat sent, by outcome.", "outcome")
PROCESSES: Final = Gauge("finops_processes", "Programs that run.", "program")

samplers: Final[list[Callable[[], None]]] = []
"""Functions that set the gauges of this process."""

_directory: Path | None = None
_slots: Slots | None = None


def directory() -> Path | None:
    """The directory of the counts; None while metrics are off."""
    return _directory


def are_on() -> bool:
    return _directory is not None


def enable(parent: Path) -> None:
    """Start counting, in files below `parent`, and remove the files of versions that no longer run. Raises OSError where
    they cannot be created."""
    global _directory, _slots
    folder = parent / _fingerprint()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with exclusive(parent):
        folder.mkdir(mode=0o700, exist_ok=True)
        slots = _slots = Slots(folder)
        slots.identifier()
        for other in parent.iterdir():
            if other != folder and _FINGERPRINT.fullmatch(other.name):
                remove_stale_files(other)
    # prometheus_client reads it on import.
    os.environ[_FOLDER] = str(folder)
    import prometheus_client
    from prometheus_client import values

    from finops.lib.telemetry.shared_values import value_class

    values.ValueClass = value_class(slots.identifier)
    registry = prometheus_client.CollectorRegistry()
    for metric in instruments:
        metric.enable(prometheus_client, registry)
    _directory = folder


def disable() -> None:
    """Undo `enable`; for tests."""
    global _directory
    from prometheus_client.values import close_all_multiprocess_files

    close_all_multiprocess_files()  # type: ignore[no-untyped-call]
    if _slots is not None:
        _slots.release()
    for metric in instruments:
        metric.disable()
    _directory = None
    del os.environ[_FOLDER]


def start_sampling(program: str) -> None:
    """Set this process's gauges every SAMPLE_SECONDS, in a thread of its own."""

    def sample() -> None:
        PROCESSES.set(1, program)
        while _directory is not None:
            for sampler in samplers:
                with suppress(Exception):
                    sampler()
            threading.Event().wait(SAMPLE_SECONDS)

    if _directory is not None:
        threading.Thread(target=sample, name="metrics", daemon=True).start()


def listen_address(listen: str) -> tuple[str, int]:
    """Return host and port of `0.0.0.0:9464` or `[::]:9464`. Raises ValueError for anything else."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(f"METRICS_LISTEN is {listen!r}, not an address with a port such as 0.0.0.0:9464.")
    return host.strip("[]"), int(port)


def exposition(*collectors: Any) -> tuple[str, bytes]:
    """Return content type and text of the counts of all processes and of `collectors`. Raises RuntimeError while metrics
    are off."""
    if _directory is None:
        raise RuntimeError("Metrics are off.")
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    remove_stale_gauges(_directory)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(_directory))  # type: ignore[no-untyped-call]
    for collector in collectors:
        registry.register(collector)
    return CONTENT_TYPE_LATEST, generate_latest(registry)


def _fingerprint() -> str:
    """A hash of all instruments: a version with other metrics uses other files."""
    text = repr([(each.kind, each.name, each.help, each.labels, each.options) for each in instruments])
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
