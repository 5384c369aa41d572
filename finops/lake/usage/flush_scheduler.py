"""Scheduling of flushes: the database records which accounts are due and which fail, so a lost message does no harm."""

from __future__ import annotations

import logging
import os
import time
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection
from msgspec import Struct

from accounts.models import Account
from finops.lake.models import UsageFlushTrouble
from finops.lake.usage.flush import FlushResult, count_pending, flush_usage
from finops.lib import clock

logger = logging.getLogger(__name__)

DUE_EVENTS: Final = 50_000
"""An account with this many pending events is due. Reading them costs a query 30 ms."""

DUE_AGE: Final = timedelta(minutes=15)
"""An account with an event that has been pending this long is due."""

LATE_AGE: Final = timedelta(hours=1)
"""An event that has been pending this long means that flushing is stuck."""

FIRST_RETRY: Final = timedelta(seconds=15)
LAST_RETRY: Final = timedelta(minutes=10)
"""After a failure the next retry is 15 s later, each further one after twice the time, 10 minutes at most."""

TURN_SECONDS: Final = 15.0
"""An account with constant pushes yields the thread to others after this long; beat queues it again three seconds later."""


class StuckFlush(Struct, frozen=True):
    """The failure of an account's flushes: since when (UTC), and why. `reason` has no path and no address."""

    since: datetime
    reason: str


_DUE: Final = """
SELECT account_id FROM (
    SELECT account_id, sum(events) AS events, min(received_at) AS oldest FROM lake_usageinbox {which} GROUP BY account_id
) AS inbox JOIN accounts_account AS account ON account.id = account_id LEFT JOIN lake_usageflushtrouble AS trouble USING (account_id)
WHERE (events >= %(events)s OR oldest <= %(old)s) AND coalesce(retry_at <= %(now)s, true)
ORDER BY events DESC
"""


def due_accounts() -> list[int]:
    """The ids of accounts to flush now, the fullest first. Reads the whole inbox: 0.1 s a million pending rows."""
    return [pk for (pk,) in _fetch_rows(_DUE.format(which=""), _due_params())]


def flush_if_due(account: Account) -> FlushResult | None:
    """Flush an account, repeatedly while new events arrive, for a quarter of a minute at most.

    Returns None when it is not due, or when a flush fails: then the failure is in the log and in the database, the events
    stay pending, and the account is due again later. A flush that runs elsewhere is not joined.
    """
    if not _fetch_rows(_DUE.format(which="WHERE account_id = %(account)s"), _due_params(account)):
        return None
    try:
        flushed = _flush(account)
    except Exception as error:
        logger.exception("lake: flushing the usage of account %s failed; it waits in the inbox", account.pk)
        _record_failure(account, error)
        return None
    if flushed.events:
        # Unscoped: a task names the account itself.
        UsageFlushTrouble.objects.unscoped().filter(account=account).delete()
    return flushed


_STUCK: Final = """
SELECT trouble.since, trouble.error, EXISTS (
    SELECT FROM lake_usageinbox AS inbox WHERE inbox.account_id = asked.id AND received_at < %(old)s
), EXISTS (SELECT FROM lake_usageinbox AS inbox WHERE inbox.account_id = asked.id)
FROM (SELECT %(account)s AS id) AS asked LEFT JOIN lake_usageflushtrouble AS trouble ON trouble.account_id = asked.id
"""


_ANYBODY_STUCK: Final = """
SELECT EXISTS (
    SELECT FROM lake_usageinbox WHERE received_at < %(old)s AND account_id IN (SELECT id FROM accounts_account)
)
"""


def stuck(account: Account) -> StuckFlush | None:
    """Return whether events are pending that a flush failed to move, or that were not moved for an hour; they still count.

    Cost: one statement, which ends at the first such event; while all is well it reads the account's inbox.
    """
    old = clock.now() - LATE_AGE
    since, error, late, any_waits = _fetch_rows(_STUCK, {"account": account.pk, "old": old})[0]
    if since is not None and any_waits:
        return StuckFlush(since, error)
    return StuckFlush(old, "no worker has flushed it") if late else None


def is_any_flush_stuck() -> bool:
    """Whether any account's events have been pending for an hour. Reads the whole inbox while all is well."""
    old = clock.now() - LATE_AGE
    return bool(_fetch_rows(_ANYBODY_STUCK, {"old": old})[0][0])


def _due_params(account: Account | None = None) -> dict[str, Any]:
    now = clock.now()
    return {"events": DUE_EVENTS, "old": now - DUE_AGE, "now": now, "account": account and account.pk}


def _fetch_rows(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _flush(account: Account) -> FlushResult:
    end = time.monotonic() + TURN_SECONDS
    flushed = FlushResult(0, 0, frozenset())
    while True:
        this = flush_usage(account, wait=False)
        flushed = FlushResult(
            flushed.events + this.events, flushed.segments + this.segments, flushed.months | this.months
        )
        if not this.events or time.monotonic() > end or count_pending(account) < DUE_EVENTS:
            return flushed


def _record_failure(account: Account, error: Exception) -> None:
    now, error_text = clock.now(), _error_text(error)
    # Unscoped: a task names the account itself.
    trouble, new = UsageFlushTrouble.objects.unscoped().get_or_create(
        account=account, defaults={"since": now, "error": error_text, "retry_at": now + FIRST_RETRY}
    )
    if new:
        return
    delay = min(FIRST_RETRY * 2 ** min(trouble.attempts, 16), LAST_RETRY)
    trouble.attempts, trouble.error, trouble.retry_at = trouble.attempts + 1, error_text, now + delay
    trouble.save()


def _error_text(error: Exception) -> str:
    """The kind of failure, which people of the account may read. The log has the rest."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return type(error).__name__
