"""Accepting a pushed batch: whole, once, and only under a key that lives until the commit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID, uuid4

from django.db import connection, transaction

from finops.lake import inbox
from finops.lib import clock
from ingestion.keys import PushCredential, lock_living_key
from ingestion.parsing import Batch


class KeyEnded(Exception):
    """The key was revoked or replaced while its push was under way; nothing of it is stored."""


@transaction.atomic
def accept_events(*, credential: PushCredential, batch: Batch) -> UUID:
    """Store the valid events of a batch with the customers and metrics that they name; they count from the commit.

    Raises KeyEnded when the key no longer lives, also for a batch without a valid event. Cost: one statement to look
    at the key, and with events three more: customers, metrics, COPY.
    """
    if not lock_living_key(credential.key_id):
        raise KeyEnded
    batch_id, now = uuid4(), clock.now()
    if batch.events:
        account = credential.account
        _know_customers(account.pk, batch.names, now)
        _know_metrics(account.pk, batch.metrics, now)
        inbox.append(
            account=account,
            source_id=credential.source_id,
            batch=batch_id,
            received_at=now,
            events=batch.events,
        )
    return batch_id


# Rows that would not change are not touched, so most pushes lock none. The rest go in one order, so that two pushes
# naming the same customers wait for each other and never both. The conflict is with a push that came first by a
# moment: it must not win over a name of ours, nor lose its own to our having none.
_CUSTOMERS = """
INSERT INTO ingestion_customer AS known (account_id, customer_id, name, first_seen_at)
SELECT %(account)s, asked.id, coalesce(asked.name, ''), %(now)s
  FROM unnest(%(ids)s::text[], %(names)s::text[]) AS asked(id, name)
  LEFT JOIN ingestion_customer was ON was.account_id = %(account)s AND was.customer_id = asked.id
 WHERE was.id IS NULL OR was.name <> asked.name
 ORDER BY asked.id COLLATE "C"
ON CONFLICT (account_id, customer_id) DO UPDATE SET name = EXCLUDED.name
 WHERE known.customer_id = ANY(%(named)s::text[]) AND known.name <> EXCLUDED.name
"""


def _know_customers(account_id: int, names: Mapping[str, str | None], now: datetime) -> None:
    asked: dict[str, int | datetime | list[str] | list[str | None]] = {
        "account": account_id,
        "now": now,
        "ids": list(names),
        "names": list(names.values()),
        "named": [customer for customer, name in names.items() if name is not None],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CUSTOMERS, asked)


_METRICS = """
INSERT INTO ingestion_usagemetric (account_id, name, label, aggregation, first_seen_at)
SELECT %(account)s, asked.name, '', 'sum', %(now)s
  FROM unnest(%(names)s::text[]) AS asked(name)
 WHERE NOT EXISTS (SELECT FROM ingestion_usagemetric was WHERE was.account_id = %(account)s AND was.name = asked.name)
 ORDER BY asked.name COLLATE "C"
ON CONFLICT (account_id, name) DO NOTHING
"""


def _know_metrics(account_id: int, names: Collection[str], now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_METRICS, {"account": account_id, "now": now, "names": list(names)})
