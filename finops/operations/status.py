"""The status of the service, shown on the start page of the console."""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from django.conf import settings
from django.core.checks import run_checks

from finops.backup.queries import BackupStatus

MINUTES = 60
"""Minutes over which rates are computed."""


@dataclass(frozen=True)
class DatabaseStatus:
    """The database's figures at one moment. `*_1h` and `*_24h` are counts of the last hour and day; bytes are stored ones;
    a time is that of the oldest, None where there is none."""

    accounts: int
    accounts_suspended: int
    accounts_to_delete: int
    people: int
    people_24h: int
    pushes_1h: int
    events_1h: int
    rejected_1h: int
    calls_1h: int
    call_errors_1h: int
    call_incidents_1h: int
    jobs_waiting: int
    jobs_running: int
    oldest_job: datetime | None
    inbox_events: int
    inbox_oldest: datetime | None
    flushes_failing: int
    connections: int
    syncs_failing: int
    syncs_late: int
    deliveries_24h: int
    deliveries_failed_24h: int
    deliveries_retrying: int
    mails_waiting: int
    compactions_due: int
    compaction_files: int
    lake_bytes: int
    lake_files: int
    database_bytes: int
    postgresql: str

    @property
    def pushes_a_minute(self) -> float:
        return self.pushes_1h / MINUTES

    @property
    def calls_a_minute(self) -> float:
        return self.calls_1h / MINUTES

    @property
    def rejected_share(self) -> float | None:
        """The rejected share of the events pushed in the last hour; None without any."""
        events = self.events_1h + self.rejected_1h
        return self.rejected_1h / events if events else None

    @property
    def call_error_share(self) -> float | None:
        """The failed share of the calls of the last hour; None without any."""
        return self.call_errors_1h / self.calls_1h if self.calls_1h else None


@dataclass(frozen=True)
class ServiceStatus:
    """The whole status: of the database, of this machine, of this process."""

    database: DatabaseStatus
    backup: BackupStatus
    disk_free_bytes: int
    is_disk_low: bool
    checks: dict[str, bool]
    pending_migrations: list[str]
    findings: list[str]
    versions: list[tuple[str, str]]


@functools.cache
def findings() -> list[str]:
    """The findings of the system checks that are not silenced. Settings do not change while a process runs: computed once,
    half a second."""
    return [str(message) for message in run_checks() if not message.is_silenced()]


def versions(postgresql: str) -> list[tuple[str, str]]:
    return [*_local_versions(), ("PostgreSQL", postgresql)]


@functools.cache
def _local_versions() -> list[tuple[str, str]]:
    return [
        ("FinOps Console", settings.VERSION),
        ("Python", platform.python_version()),
        ("Django", version("Django")),
        ("DuckDB", version("duckdb")),
    ]
