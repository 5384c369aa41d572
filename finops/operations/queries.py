"""Queries of the console's start page. Unscoped: an operator runs the service for every account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from finops import health
from finops.backup.queries import backup_status
from finops.lake.usage.compaction import DUE_GROUPS_SQL
from finops.lib import clock, disk
from finops.operations.status import DatabaseStatus, ServiceStatus, findings, versions

LATE: Final = timedelta(hours=1)
"""A sync that has been due for this long is late."""

# Waiting work of a suspended account is not counted: none of its tasks run. Tables that grow with traffic are read account by account, since their indexes begin with it.
_STATUS: Final = f"""
WITH batches AS (
    SELECT count(*) AS n, sum(accepted) AS accepted, sum(rejected) AS rejected
    FROM accounts_account a CROSS JOIN LATERAL (
        SELECT accepted, rejected FROM ingestion_usagebatch WHERE account_id = a.id AND received_at >= %(hour)s
    ) AS recent
), calls AS (
    SELECT count(*) AS n, count(*) FILTER (WHERE outcome <> 'ok') AS errors,
        count(*) FILTER (WHERE outcome = 'incident') AS incidents
    FROM accounts_account a CROSS JOIN LATERAL (
        SELECT outcome FROM activity_assistantcall WHERE account_id = a.id AND at >= %(hour)s
    ) AS recent
), deliveries AS (
    SELECT count(*) AS n, count(*) FILTER (WHERE status = 'failed') AS failed
    FROM accounts_account a CROSS JOIN LATERAL (
        SELECT status FROM alerts_alertdelivery WHERE account_id = a.id AND created_at >= %(day)s
    ) AS recent
), jobs AS (
    SELECT account_id, status, created_at FROM costs_costimport WHERE status IN ('queued', 'running')
    UNION ALL SELECT account_id, status, created_at FROM connections_costsync WHERE status IN ('queued', 'running')
    UNION ALL SELECT account_id, status, created_at FROM connections_costpush WHERE status IN ('queued', 'running')
    UNION ALL SELECT account_id, status, created_at FROM ingestion_usageupload WHERE status IN ('queued', 'running')
), queue AS (
    SELECT count(*) FILTER (WHERE status = 'queued') AS waiting, count(*) FILTER (WHERE status = 'running') AS running,
        min(jobs.created_at) FILTER (WHERE status = 'queued') AS oldest
    FROM jobs JOIN accounts_account a ON a.id = account_id AND a.suspended_at IS NULL
), inbox AS (
    SELECT coalesce(sum(events), 0) AS events, min(received_at) AS oldest FROM lake_usageinbox
), connections AS (
    SELECT count(*) AS n, count(*) FILTER (WHERE failures > 0) AS failing,
        count(*) FILTER (WHERE next_sync_at < %(late)s) AS late
    FROM connections_costconnection JOIN accounts_account a ON a.id = account_id AND a.suspended_at IS NULL
    WHERE paused_at IS NULL
), accounts AS (
    SELECT count(*) AS n, count(*) FILTER (WHERE suspended_at IS NOT NULL) AS suspended,
        count(*) FILTER (WHERE delete_after IS NOT NULL) AS to_delete FROM accounts_account
), compactions AS (
    SELECT count(*) AS n, coalesce(sum(due.files), 0) AS files FROM ({DUE_GROUPS_SQL}) AS due
), files AS (
    SELECT coalesce(sum(bytes), 0) AS bytes, count(*) AS n FROM (
        SELECT bytes FROM lake_lakesegment UNION ALL SELECT bytes FROM lake_lakesummary
    ) AS every
)
SELECT accounts.n AS accounts, accounts.suspended AS accounts_suspended, accounts.to_delete AS accounts_to_delete,
    (SELECT count(*) FROM accounts_user WHERE is_active) AS people,
    (SELECT count(DISTINCT user_id) FROM accounts_session WHERE last_seen_at >= %(day)s) AS people_24h,
    batches.n AS pushes_1h, coalesce(batches.accepted, 0) AS events_1h, coalesce(batches.rejected, 0) AS rejected_1h,
    calls.n AS calls_1h, calls.errors AS call_errors_1h, calls.incidents AS call_incidents_1h,
    queue.waiting AS jobs_waiting, queue.running AS jobs_running, queue.oldest AS oldest_job,
    inbox.events AS inbox_events, inbox.oldest AS inbox_oldest,
    (SELECT count(*) FROM lake_usageflushtrouble) AS flushes_failing,
    connections.n AS connections, connections.failing AS syncs_failing, connections.late AS syncs_late,
    deliveries.n AS deliveries_24h, deliveries.failed AS deliveries_failed_24h,
    (SELECT count(*) FROM alerts_alertdelivery WHERE status = 'waiting' AND jsonb_array_length(attempts) > 0)
        AS deliveries_retrying,
    (SELECT count(*) FROM accounts_unsentmail) AS mails_waiting,
    compactions.n AS compactions_due, compactions.files AS compaction_files, files.bytes AS lake_bytes, files.n AS lake_files, pg_database_size(current_database()) AS database_bytes,
    current_setting('server_version') AS postgresql
FROM batches, calls, deliveries, queue, inbox, connections, accounts, compactions, files
"""  # noqa: S608 of our own constants


def database_status() -> DatabaseStatus:
    """The status of the database. One statement."""
    now = clock.now()
    moments = {"hour": now - timedelta(hours=1), "day": now - timedelta(days=1), "late": now - LATE}
    with connection.cursor() as cursor:
        cursor.execute(_STATUS, moments)
        names = [column.name for column in cursor.description or ()]
        values: dict[str, Any] = dict(zip(names, cursor.fetchone(), strict=True))
    sums = ("events_1h", "rejected_1h", "inbox_events", "compaction_files", "lake_bytes")
    return DatabaseStatus(**values | {name: int(values[name]) for name in sums})


def service_status() -> ServiceStatus:
    """The status of the service. Four statements, one of them that of /readyz."""
    database = database_status()
    return ServiceStatus(
        database=database,
        backup=backup_status(),
        disk_free_bytes=disk.free_bytes(),
        is_disk_low=bool(disk.low_disk()),
        checks=health.check_results(),
        pending_migrations=health.pending_migrations(),
        findings=findings(),
        versions=versions(database.postgresql),
    )


_ACTIVITY: Final = """
SELECT 'calls', recent.outcome, date_trunc(%(unit)s, recent.at, 'UTC'), count(*) FROM accounts_account a CROSS JOIN LATERAL (
    SELECT outcome, at FROM activity_assistantcall WHERE account_id = a.id AND at >= %(since)s
) AS recent GROUP BY 2, 3
UNION ALL
SELECT 'events', kind, date_trunc(%(unit)s, recent.received_at, 'UTC'), sum(n) FROM accounts_account a CROSS JOIN LATERAL (
    SELECT received_at, accepted, rejected FROM ingestion_usagebatch WHERE account_id = a.id AND received_at >= %(since)s
) AS recent CROSS JOIN LATERAL (VALUES ('accepted', accepted), ('rejected', rejected)) AS counts (kind, n)
WHERE n > 0 GROUP BY 2, 3
UNION ALL
SELECT 'deliveries', recent.status, date_trunc(%(unit)s, recent.created_at, 'UTC'), count(*)
FROM accounts_account a CROSS JOIN LATERAL (
    SELECT status, created_at FROM alerts_alertdelivery WHERE account_id = a.id AND created_at >= %(since)s
) AS recent GROUP BY 2, 3
"""
STATEMENT_SECONDS: Final = 10


@contextmanager
def statement_limit() -> Iterator[None]:
    """End statements inside the block with OperationalError after STATEMENT_SECONDS: an operator's page must not slow down
    the service."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true)", [f"{STATEMENT_SECONDS * 1000:.0f}ms"]
            )
        yield


def activity_counts(unit: str, since: datetime) -> list[tuple[str, str, datetime, int]]:
    """Return chart, series, start of the bucket (`unit` is hour or day, UTC) and count. Reads every push and call since
    then; raises OperationalError where that takes too long."""
    with statement_limit(), connection.cursor() as cursor:
        cursor.execute(_ACTIVITY, {"unit": unit, "since": since})
        return [(chart, series, start, int(count)) for chart, series, start, count in cursor.fetchall()]
