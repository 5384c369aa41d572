"""The tiles of the start page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from accounts.models import Account, User
from finops.activity.models import AssistantCall
from finops.alerts.models import AlertDelivery
from finops.backup.models import BackupRun
from finops.backup.queries import BackupStatus
from finops.connections.models import CostConnection
from finops.costs.models import CostImport
from finops.lake.models import LakeSegment, UsageFlushTrouble
from finops.lib import clock
from finops.lib.formats import dates, numbers
from finops.operations.links import list_href
from finops.operations.status import DatabaseStatus, ServiceStatus
from ingestion.models import UsageBatch

LATE_JOB: Final = timedelta(minutes=15)
"""A job that has waited this long suggests that no worker is running."""
LATE_INBOX: Final = timedelta(hours=1)
MANY_REJECTED: Final = 0.05
MANY_COMPACTIONS: Final = 500
"""The same threshold as the alert rule (ops/alerts.yml)."""


@dataclass(frozen=True)
class Tile:
    """A figure with details below; `is_bad` draws it red."""

    label: str
    figure: str
    notes: list[str]
    href: str = ""
    is_bad: bool = False


def tiles(status: ServiceStatus) -> list[Tile]:
    db = status.database
    return [
        _accounts(db),
        _people(db),
        _pushes(db),
        _calls(db),
        _jobs(db),
        _inbox(db),
        _compactions(db),
        _syncs(db),
        _deliveries(db),
        Tile(
            "Lake",
            numbers.filesize(db.lake_bytes),
            [_count(db.lake_files, "file")],
            list_href(LakeSegment),
        ),
        Tile("Database", numbers.filesize(db.database_bytes), [f"PostgreSQL {db.postgresql}"]),
        Tile(
            "Disk space left",
            numbers.filesize(status.disk_free_bytes),
            ["Imports and uploads are paused"] if status.is_disk_low else [],
            is_bad=status.is_disk_low,
        ),
        _backup(status.backup),
        Tile("Emails not sent", numbers.number(db.mails_waiting), [], is_bad=db.mails_waiting > 0),
    ]


def _accounts(db: DatabaseStatus) -> Tile:
    notes = [
        f"{numbers.number(db.accounts_suspended)} suspended" if db.accounts_suspended else "",
        f"{numbers.number(db.accounts_to_delete)} to be deleted" if db.accounts_to_delete else "",
    ]
    return Tile("Accounts", numbers.number(db.accounts), [note for note in notes if note], list_href(Account))


def _people(db: DatabaseStatus) -> Tile:
    note = f"{numbers.number(db.people_24h)} active in the last 24 hours"
    return Tile("People", numbers.number(db.people), [note], list_href(User))


def _pushes(db: DatabaseStatus) -> Tile:
    notes = [f"{_count(db.events_1h, 'event')} in the last hour"]
    if db.rejected_share is not None:
        notes.append(f"{numbers.percent(db.rejected_share)} rejected")
    figure = _rate(db.pushes_a_minute)
    return Tile(
        "Pushes per minute",
        figure,
        notes,
        list_href(UsageBatch),
        is_bad=(db.rejected_share or 0) > MANY_REJECTED,
    )


def _calls(db: DatabaseStatus) -> Tile:
    notes = [f"{_count(db.calls_1h, 'call')} in the last hour"]
    if db.call_error_share is not None:
        notes.append(f"{numbers.percent(db.call_error_share)} not answered")
    if db.call_incidents_1h:
        notes.append(_count(db.call_incidents_1h, "server error"))
    figure = _rate(db.calls_a_minute)
    return Tile(
        "MCP calls per minute", figure, notes, list_href(AssistantCall), is_bad=db.call_incidents_1h > 0
    )


def _jobs(db: DatabaseStatus) -> Tile:
    notes = [f"{numbers.number(db.jobs_running)} running", *_oldest(db.oldest_job)]
    is_late = _is_older(db.oldest_job, LATE_JOB)
    return Tile("Jobs waiting", numbers.number(db.jobs_waiting), notes, list_href(CostImport), is_late)


def _inbox(db: DatabaseStatus) -> Tile:
    notes = _oldest(db.inbox_oldest)
    if db.flushes_failing:
        notes.append(f"{_count(db.flushes_failing, 'account')} with a failing flush")
    is_bad = db.flushes_failing > 0 or _is_older(db.inbox_oldest, LATE_INBOX)
    return Tile(
        "Events in the inbox", numbers.number(db.inbox_events), notes, list_href(UsageFlushTrouble), is_bad
    )


def _compactions(db: DatabaseStatus) -> Tile:
    notes = [f"of {_count(db.compaction_files, 'small file')}"] if db.compactions_due else []
    is_bad = db.compactions_due > MANY_COMPACTIONS
    href = list_href(LakeSegment, kind="usage")
    return Tile("Compactions due", numbers.number(db.compactions_due), notes, href, is_bad)


def _syncs(db: DatabaseStatus) -> Tile:
    notes = [f"of {_count(db.connections, 'connection')}", f"{numbers.number(db.syncs_late)} late"]
    is_bad = db.syncs_failing + db.syncs_late > 0
    href = list_href(CostConnection, sort="-failures")
    return Tile("Syncs failing", numbers.number(db.syncs_failing), notes, href, is_bad)


def _deliveries(db: DatabaseStatus) -> Tile:
    notes = [
        f"of {numbers.number(db.deliveries_24h)} in the last 24 hours",
        f"{numbers.number(db.deliveries_retrying)} being retried",
    ]
    failed = db.deliveries_failed_24h
    href = list_href(AlertDelivery, status="failed")
    return Tile("Deliveries failed", numbers.number(failed), notes, href, failed > 0)


def _backup(backup: BackupStatus) -> Tile:
    last, done = backup.last, backup.last_done
    notes = [numbers.filesize(done.bytes or 0)] if done else []
    if last and last.status != last.Status.DONE:
        notes.append(f"Last run: {last.get_status_display().lower()}")
    if not backup.is_scheduled:
        notes.append("No schedule")
    figure = dates.ago(clock.now() - done.started_at) if done else "None"
    return Tile("Last backup", figure, notes, list_href(BackupRun), backup.is_bad)


def _rate(value: float) -> str:
    """`0.2`, `1,204`; less than a tenth as `<0.1`."""
    return "<0.1" if 0 < value < 0.1 else numbers.number(round(value, 1 if value < 100 else None))


def _oldest(moment: datetime | None) -> list[str]:
    return [f"oldest {dates.ago(clock.now() - moment)}"] if moment else []


def _is_older(moment: datetime | None, age: timedelta) -> bool:
    return moment is not None and clock.now() - moment > age


def _count(count: int, noun: str) -> str:
    words = noun.split()
    return f"{numbers.number(count)} {' '.join([*words[:-1], numbers.plural(f'{words[-1]}s', count)])}"
