"""When usage sources brought events, all of an account at once: from the ledger, so of the last 35 days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.db import connection

from accounts.models import Account
from finops.lib import clock
from ingestion.models import UsageSource

# A probe of the index for each source and day, and the newest batches alone: at its full limit an account writes 1.4
# million batches a day.
_SOURCES: Final = """
SELECT source.id, source.name, source.kind, living.source_id IS NOT NULL, (
    SELECT received_at FROM ingestion_usagebatch WHERE source_id = source.id AND accepted > 0 AND voided_at IS NULL
    ORDER BY received_at DESC LIMIT 1
), array(
    SELECT day::date FROM generate_series(%(since)s::date, %(today)s::date, interval '1 day') AS day
    WHERE EXISTS (
        SELECT FROM ingestion_usagebatch WHERE source_id = source.id AND accepted > 0
        AND received_at >= day AT TIME ZONE 'UTC' AND received_at < (day + interval '1 day') AT TIME ZONE 'UTC'
    )
), lately.accepted, lately.rejected
FROM ingestion_usagesource AS source
LEFT JOIN ingestion_usagekey AS living ON living.source_id = source.id AND living.revoked_at IS NULL
CROSS JOIN LATERAL (
    SELECT coalesce(sum(accepted), 0) AS accepted, coalesce(sum(rejected), 0) AS rejected FROM (
        SELECT accepted, rejected FROM ingestion_usagebatch
        WHERE source_id = source.id AND received_at > %(day_ago)s ORDER BY received_at DESC LIMIT %(batches)s
    ) AS newest
) AS lately
WHERE source.account_id = %(account)s ORDER BY source.name
"""
BATCHES: Final = 1_000
LEDGER_DAYS: Final = 35


@dataclass(frozen=True)
class UsageDeliveries:
    """What a usage source brought lately: `days` (UTC) with accepted events, and the events of its newest thousand
    batches of the last 24 hours."""

    source_id: int
    name: str
    kind: str
    has_key: bool
    last_event_at: datetime | None
    days: tuple[date, ...]
    accepted: int
    rejected: int

    @property
    def lacks_key(self) -> bool:
        """Nothing can be pushed. A source that is pulled from has no key of ours."""
        return self.kind == UsageSource.Kind.PUSH and not self.has_key


def usage_deliveries(account: Account) -> list[UsageDeliveries]:
    """Every usage source by name. One statement: 36 probes of an index and up to 1,000 rows for each source."""
    now = clock.now()
    params: dict[str, Any] = {
        "account": account.pk,
        "day_ago": now - timedelta(hours=24),
        "since": now.date() - timedelta(days=LEDGER_DAYS),
        "today": now.date(),
        "batches": BATCHES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, params)
        return [
            UsageDeliveries(pk, name, kind, has_key, last, tuple(sorted(days)), int(accepted), int(rejected))
            for pk, name, kind, has_key, last, days, accepted, rejected in cursor.fetchall()
        ]
