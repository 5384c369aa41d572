"""Responses to pushes with an Idempotency-Key: stored, and repeated to a retry with the same key for 24 hours.

A key belongs to its sender, such as a usage source: the same key of another sender is another key. The REST API stores the
responses of its write tools here too (mcpserver.rest.idempotency).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Self
from uuid import UUID

import msgspec
from django.db import connection

from finops.lib import clock
from ingestion.models import PushAnswer
from ingestion.parsing import Rejection
from ingestion.remarks import Remarks
from ingestion.services.event_ids import DedupResult


class Result(msgspec.Struct, omit_defaults=True):
    """The ingestion result: every event counts in `accepted` or `rejected`; every rejected event is in `errors`. A dry run
    also has the warnings on accepted events."""

    accepted: int
    rejected: int
    errors: Sequence[Rejection]
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The response to a push: a Result as JSON, and additional values as headers."""

    body: bytes
    headers: dict[str, str]

    @classmethod
    def of(cls, batch_id: UUID | None, dedup_result: DedupResult, remarks: Remarks) -> Self:
        """Return the receipt of a batch. Accepted events are new ones and duplicates. No batch ID: nothing was
        stored."""
        accepted, rejected = len(dedup_result.events) + dedup_result.duplicates, dedup_result.rejected
        headers = {
            "Usage-Rejected": str(len(rejected)),
            "Usage-Duplicates": str(dedup_result.duplicates),
            "Usage-Rounded": str(dedup_result.rounded),
            "Usage-Unlikely-Times": str(remarks.unlikely_times),
            "Usage-Ignored-Fields": str(remarks.ignored),
        }
        if batch_id is not None:
            headers["Usage-Batch-Id"] = str(batch_id)
        warnings = (remarks.warnings if batch_id is None else []) or ()
        return cls(msgspec.json.encode(Result(accepted, len(rejected), rejected, warnings)), headers)


HOURS = 24
KEY_RULE = "Idempotency-Key must be 1 to 255 visible ASCII characters."
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
REPLAYED = "Idempotent-Replayed"


def is_key(text: str) -> bool:
    """Return whether a header is a key as KEY_RULE describes."""
    return _KEY.fullmatch(text) is not None


class IdempotencyKeyConflict(Exception):
    """The key was used with another body within the 24 hours."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A request that may be retried: the stored key, distinct for each sender and client's key, and the hash of the
    decompressed body."""

    key: str
    body_digest: bytes

    @classmethod
    def of(cls, sender: str, key: str, body: bytes) -> Retry:
        """`sender` names who sends: a kind and an id, such as `usage 12`."""
        return cls(f"{sender} {sha256(key.encode()).hexdigest()}", sha256(body).digest())


# A concurrent request with the same key holds the row: this waits for its end. An expired row counts as missing.
_CLAIM = """
INSERT INTO ingestion_pushanswer AS known (account_id, key, body_digest, status, answer, headers, created_at)
VALUES (%(account)s, %(key)s, %(body)s, 200, '', '{}', %(now)s)
ON CONFLICT (account_id, key) DO UPDATE SET body_digest = EXCLUDED.body_digest, created_at = EXCLUDED.created_at
 WHERE known.created_at <= %(too_old)s
"""


def claim(*, account_id: int, retry: Retry) -> Receipt | None:
    """Return the stored response of this key; or None, and the key is locked for the caller until its transaction
    ends.

    Raises IdempotencyKeyConflict. Cost: one statement, two for a retry.
    """
    while True:
        # The same time for both statements: otherwise neither would match a row that expires between them.
        now = clock.now()
        params: dict[str, int | str | bytes | datetime] = {
            "account": account_id,
            "key": retry.key,
            "body": retry.body_digest,
            "now": now,
            "too_old": now - timedelta(hours=HOURS),
        }
        with connection.cursor() as cursor:
            cursor.execute(_CLAIM, params)
            if cursor.rowcount:
                return None
        # None: the clean-up deleted the conflicting row meanwhile.
        if receipt := find(account_id=account_id, retry=retry, now=now):
            return receipt


def find(*, account_id: int, retry: Retry, now: datetime | None = None) -> Receipt | None:
    """Return the stored response of this key, if any. Raises IdempotencyKeyConflict. One statement."""
    # Unscoped: the account comes from the request's credential.
    answers = PushAnswer.objects.unscoped().filter(account_id=account_id, key=retry.key)
    row = answers.filter(created_at__gt=(now or clock.now()) - timedelta(hours=HOURS)).first()
    if row is None:
        return None
    if bytes(row.body_digest) != retry.body_digest:
        raise IdempotencyKeyConflict
    return Receipt(bytes(row.answer), {**row.headers, REPLAYED: "true"})


def store_answer(*, account_id: int, retry: Retry, receipt: Receipt) -> None:
    """Store the response under a key that was claimed in this transaction. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingestion_pushanswer SET answer = %s, headers = %s WHERE account_id = %s AND key = %s",
            [receipt.body, json.dumps(receipt.headers), account_id, retry.key],
        )


def delete_expired_answers() -> int:
    """Delete responses older than a day; returns their number."""
    old = PushAnswer.objects.unscoped().filter(created_at__lte=clock.now() - timedelta(hours=HOURS))
    return old.delete()[0]
