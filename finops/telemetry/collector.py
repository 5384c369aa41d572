"""Gauges that need a query: queue lengths, their ages, sizes. Queried at each scrape, by one statement.

Every web process returns the same values, so a sum over several would count twice: use `max`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from finops.lake.usage.compaction import DUE_GROUPS_SQL
from finops.lib import disk
from finops.worker import liveness
from finops.worker.queues import QUEUES

logger = logging.getLogger(__name__)

STATEMENT_SECONDS: Final = 5
"""Prometheus's default timeout is 10."""


@dataclass(frozen=True)
class StateGauge:
    """A gauge: its name without `finops_`, its help and its label."""

    name: str
    help: str
    label: str = ""


STATES: Final = {
    each.name: each
    for each in (
        StateGauge("database_up", "1 when PostgreSQL answered this scrape."),
        StateGauge("database_size_bytes", "Size of the database."),
        StateGauge("accounts", "Accounts."),
        StateGauge("jobs_waiting", "Jobs that wait for a worker.", "job"),
        StateGauge("job_oldest_waiting_seconds", "For how long the oldest of them has waited.", "job"),
        StateGauge("jobs_running", "Jobs that run.", "job"),
        StateGauge("usage_inbox_events", "Pushed events that wait for a flush."),
        StateGauge("usage_inbox_bytes", "Their size."),
        StateGauge("usage_inbox_oldest_seconds", "For how long the oldest of them has waited."),
        StateGauge("usage_flushes_failing", "Accounts with a failing flush."),
        StateGauge("lake_segments", "Files that count.", "kind"),
        StateGauge("lake_rows", "Rows in them.", "kind"),
        StateGauge("lake_size_bytes", "Their size.", "kind"),
        StateGauge("lake_compactions_due", "Groups of small files that wait for a compaction."),
        StateGauge("cost_connections", "Cost connections by state: ok, failing, late, paused.", "state"),
        StateGauge("data_exports", "Data exports by state: ok, failing, late, paused.", "state"),
        StateGauge("alert_channels_failing", "Channels with a failed delivery in the last day."),
        StateGauge("backup_age_seconds", "Since the start of the last complete backup, or of the first run."),
        StateGauge("backup_size_bytes", "What the last complete backup needs at its target."),
        StateGauge("backup_runs_failed", "Later runs that failed or have missing lake files."),
        StateGauge("queue_messages", "Messages in the broker.", "queue"),
        StateGauge("program_up", "1 when the program was alive in the last minute.", "program"),
        StateGauge("program_last_seen_timestamp_seconds", "When it last was, as Unix time.", "program"),
        StateGauge("disk_free_bytes", "Room on the fullest disk of this machine."),
    )
}

_ACTIVE: Final = "account_id IN (SELECT id FROM accounts_account WHERE suspended_at IS NULL)"
"""Condition that excludes suspended accounts: their due work waits until they are resumed, and needs no attention."""

_JOBS: Final = {
    "cost_import": (
        "costs_costimport",
        f"status = 'queued' AND {_ACTIVE}",
        "status = 'running'",
        "created_at",
    ),
    "cost_sync": (
        "connections_costsync",
        f"status = 'queued' AND {_ACTIVE}",
        "status = 'running'",
        "created_at",
    ),
    "cost_push": (
        "connections_costpush",
        f"status = 'queued' AND {_ACTIVE}",
        "status = 'running'",
        "committed_at",
    ),
    "data_export": (
        "data_exports_dataexportrun",
        f"status = 'queued' AND {_ACTIVE}",
        "status = 'running'",
        "created_at",
    ),
    "usage_upload": (
        "ingestion_usageupload",
        f"status = 'queued' AND {_ACTIVE}",
        "status = 'running'",
        "created_at",
    ),
    "alert_delivery": (
        "alerts_alertdelivery",
        f"status = 'waiting' AND next_attempt_at <= now() AND {_ACTIVE}",
        "false",
        "next_attempt_at",
    ),
    "mail": ("accounts_unsentmail", "true", "false", "created_at"),
}
"""Table, condition of waiting jobs, condition of running jobs, column of their start."""


def _jobs_sql(job: str) -> str:
    table, waiting, running, since = _JOBS[job]
    return f"""
    SELECT gauges.name, '{job}' AS label, gauges.value FROM (
        SELECT count(*) FILTER (WHERE {waiting}) AS waiting, count(*) FILTER (WHERE {running}) AS running,
               coalesce(extract(epoch FROM now() - min({since}) FILTER (WHERE {waiting})), 0) AS oldest
        FROM {table} WHERE ({waiting}) OR ({running})
    ) AS jobs CROSS JOIN LATERAL (VALUES ('jobs_waiting', waiting::float8), ('jobs_running', running::float8),
        ('job_oldest_waiting_seconds', oldest::float8)) AS gauges(name, value)
    """  # noqa: S608 - of our own constants


_STATE_SQL: Final = f"""
SELECT 'database_up', '', 1
UNION ALL SELECT 'database_size_bytes', '', pg_database_size(current_database())
UNION ALL SELECT 'accounts', '', count(*) FROM accounts_account
UNION ALL SELECT 'usage_flushes_failing', '', count(*) FROM lake_usageflushtrouble
UNION ALL SELECT gauges.name, '', gauges.value FROM (
    SELECT coalesce(sum(events), 0) AS events, coalesce(sum(octet_length(payload)), 0) AS bytes,
           coalesce(extract(epoch FROM now() - min(received_at)), 0) AS oldest
    FROM lake_usageinbox
) AS inbox CROSS JOIN LATERAL (VALUES ('usage_inbox_events', events::float8), ('usage_inbox_bytes', bytes::float8),
    ('usage_inbox_oldest_seconds', oldest::float8)) AS gauges(name, value)
UNION ALL SELECT gauges.name, kind, gauges.value FROM (
    SELECT kind, count(*) AS files, sum(rows) AS rows, sum(bytes) AS bytes
    FROM lake_lakesegment WHERE retired_at IS NULL GROUP BY kind
) AS lake CROSS JOIN LATERAL (VALUES ('lake_segments', files::float8), ('lake_rows', rows::float8),
    ('lake_size_bytes', bytes::float8)) AS gauges(name, value)
UNION ALL SELECT 'lake_compactions_due', '', count(*) FROM (
{DUE_GROUPS_SQL}) AS due
UNION ALL SELECT 'cost_connections', state, count(*) FROM (
    SELECT CASE WHEN paused_at IS NOT NULL OR NOT {_ACTIVE} THEN 'paused' WHEN failures > 0 THEN 'failing'
                WHEN next_sync_at < now() - interval '1 hour' THEN 'late' ELSE 'ok' END AS state
    FROM connections_costconnection
) AS connections GROUP BY state
UNION ALL SELECT 'data_exports', state, count(*) FROM (
    SELECT CASE WHEN paused_at IS NOT NULL OR NOT {_ACTIVE} THEN 'paused' WHEN failures > 0 THEN 'failing'
                WHEN schedule <> 'after_imports' AND next_run_at < now() - interval '1 hour' THEN 'late'
                ELSE 'ok' END AS state
    FROM data_exports_dataexport
) AS exports GROUP BY state
UNION ALL SELECT 'alert_channels_failing', '', count(DISTINCT channel_id)
    FROM accounts_account AS account CROSS JOIN LATERAL (
        SELECT channel_id FROM alerts_alertdelivery
        WHERE account_id = account.id AND status = 'failed' AND created_at > now() - interval '1 day'
    ) AS deliveries
UNION ALL SELECT gauges.name, '', gauges.value FROM (
    SELECT coalesce(max(started_at) FILTER (WHERE status = 'done'), min(started_at)) AS since,
        max(started_at) FILTER (WHERE status = 'done') AS done FROM backup_backuprun
) AS backups CROSS JOIN LATERAL (VALUES ('backup_age_seconds', extract(epoch FROM now() - since)::float8),
    ('backup_runs_failed', (SELECT count(*) FROM backup_backuprun WHERE status IN ('failed', 'incomplete')
        AND (done IS NULL OR started_at > done))::float8)) AS gauges(name, value)
WHERE since IS NOT NULL
UNION ALL SELECT 'backup_size_bytes', '', bytes::float8 FROM (
    SELECT bytes FROM backup_backuprun WHERE status = 'done' ORDER BY started_at DESC, id DESC LIMIT 1
) AS last_backup WHERE bytes IS NOT NULL
"""  # noqa: S608 - of our own constants
_STATEMENT: Final = " UNION ALL ".join([*map(_jobs_sql, _JOBS), _STATE_SQL])

Sample = tuple[str, str, float]
"""Name of a state, value of its label, and its value."""


class StateCollector:
    """A collector for prometheus_client. A part that fails is left out and logged."""

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        families = {
            name: GaugeMetricFamily(f"finops_{name}", state.help, labels=[state.label] if state.label else [])
            for name, state in STATES.items()
        }
        for name, label, value in samples():
            families[name].add_metric([label] if STATES[name].label else [], float(value))
        yield from (family for family in families.values() if family.samples)


def samples() -> Iterator[Sample]:
    database = list(_part("the database", _database))
    yield from database or [("database_up", "", 0.0)]
    yield from _part("the broker", _messages)
    yield from _part("programs", _programs)
    yield from _part("the disk", lambda: [("disk_free_bytes", "", float(disk.free_bytes()))])


def _part(what: str, read: Callable[[], Iterable[Sample]]) -> list[Sample]:
    try:
        return list(read())
    except Exception:
        # After any error, the counts are served without these gauges.
        logger.exception("metrics: %s did not answer", what)
        return []


def _database() -> list[Sample]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{STATEMENT_SECONDS}s"])
        cursor.execute(_STATEMENT)
        rows: list[Sample] = cursor.fetchall()
    return rows


def _messages() -> Iterator[Sample]:
    lengths = liveness.lengths(QUEUES) if settings.REDIS_URL else dict.fromkeys(QUEUES, 0)
    for queue, length in lengths.items():
        yield "queue_messages", queue, float(length)


def _programs() -> Iterator[Sample]:
    for name in (*map(liveness.worker_of, QUEUES), liveness.BEAT):
        moment = liveness.last_note(name)
        yield "program_up", name, float(liveness.is_recent(moment))
        if moment:
            yield "program_last_seen_timestamp_seconds", name, moment
