"""A receipt when it is issued, and the statements that store receipts shortly afterwards (ADR 0080)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Final

import msgspec
from django.conf import settings
from django.db import transaction

from finops.activity.recorder import Recorder
from finops.lake.storage.manifest import Manifest, encode_segments
from finops.lib import prepared_statements
from finops.lib.sentences import escape_hidden
from finops.receipts import codes

MAX_ARGUMENT_BYTES: Final = 20_000
MAX_SUMMARY: Final = 600
MAX_PENDING: Final = 2_000
"""The maximum of receipts that wait while the database is unavailable; each has its answer, 25 KB at most."""

REMEMBERED: Final = 20_000
"""The maximum of codes and states that this process caches as stored."""
KEPT_CODES: Final = 128
"""The maximum of cached codes; the cache keys contain the figures, 25 KB each at most."""


class ReceiptRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The data of a receipt when the answer is ready. `answer` is without its texts."""

    account_id: int
    at: datetime
    name: str
    """Name of the tool."""
    arguments: bytes
    cost_access: str
    manifest: Manifest
    source_state: tuple[str, ...]
    expressions: str
    rates: str
    engine: str
    days: tuple[date, date] | None
    has_usage: bool
    answer: bytes
    summary: str

    @property
    def state_digest(self) -> str:
        return state_digest(self.manifest.identity, self.source_state)

    def code(self) -> str:
        """Return the code. Cached for equal answers of a day, so only the first of them is hashed."""
        return _code_of(
            settings.SECRET_KEY,
            self.at.date(),
            self.manifest.identity,
            self.source_state,
            self.answer,
            self.account_id,
            self.name,
            self.arguments,
            self.cost_access,
            self.expressions,
            self.rates,
            self.engine,
        )


@lru_cache(maxsize=KEPT_CODES)
def _code_of(
    _secret_key: str,
    day: date,
    manifest_identity: str,
    source_state: tuple[str, ...],
    answer: bytes,
    account_id: int,
    name: str,
    arguments: bytes,
    cost_access: str,
    expressions: str,
    rates: str,
    engine: str,
) -> str:
    """Return the code by `settings.SECRET_KEY`, which is a parameter because the key may change."""
    state = state_digest(manifest_identity, source_state)
    inputs = account_id, name, arguments.decode(), cost_access, state, expressions, rates, engine
    return codes.code_of(day, receipt_content(answer, *inputs))


def state_digest(manifest_identity: str, source_state: Sequence[str]) -> str:
    digest = hashlib.sha256(manifest_identity.encode())
    for text in source_state:
        digest.update(b"\0" + text.encode())
    return digest.hexdigest()[:32]


def receipt_content(answer: bytes, *inputs: int | str) -> bytes:
    """Return the hashed content of a receipt's code: the figures, and all inputs that determine them."""
    return msgspec.json.encode([*inputs, hashlib.sha256(answer).hexdigest()])


def note(record: ReceiptRecord, code: str) -> None:
    """Queue the receipt for storage unless it is already stored. Never waits and never raises."""
    if not is_stored(record.account_id, code):
        recorder.note(_CodedRecord(record=record, code=code))


def is_stored(account_id: int, code: str) -> bool:
    """Return whether this process has cached that the receipt is stored."""
    return (account_id, code) in _stored


class _CodedRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    record: ReceiptRecord
    code: str

    @property
    def name(self) -> str:
        return self.record.name


# The joins skip accounts deleted meanwhile. A crash may lose the receipts of the last second: the commit does not wait for disk.
_STATES: Final = """
INSERT INTO receipts_answerstate AS kept (account_id, digest, segments, source_state, first_used_at, last_used_at)
SELECT g.account_id, g.digest, g.segments, g.source_state, g.at, g.at
  FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::timestamptz[])
       AS g(account_id, digest, segments, source_state, at)
  JOIN accounts_account a ON a.id = g.account_id ORDER BY 1, 2
ON CONFLICT (account_id, digest) DO UPDATE SET last_used_at = greatest(kept.last_used_at, excluded.last_used_at)
"""
_RECEIPTS: Final = """
WITH async_commit AS (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO receipts_answerreceipt (account_id, code, at, tool, arguments, cost_access, state_id, expressions, rates, engine,
       first_day, last_day, has_usage, summary, answer)
SELECT g.account_id, g.code, g.at, g.tool, g.arguments, g.cost_access, s.id, g.expressions, g.rates, g.engine,
       g.first_day, g.last_day, g.has_usage, g.summary, g.answer
  FROM async_commit,
       unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
       %s::text[], %s::text[], %s::date[], %s::date[], %s::bool[], %s::text[], %s::bytea[])
       AS g(account_id, code, at, tool, arguments, cost_access, digest, expressions, rates, engine, first_day, last_day,
            has_usage, summary, answer)
  JOIN receipts_answerstate s ON s.account_id = g.account_id AND s.digest = g.digest
 ORDER BY g.account_id, g.code
ON CONFLICT (account_id, code) DO NOTHING
"""


def store(batch: Sequence[_CodedRecord]) -> None:
    """Store receipts and the states that they name, all or none. Two statements, one if all states are stored."""
    by_code = {(each.record.account_id, each.code): each.record for each in reversed(batch)}
    by_state = {_state_key(record): record for record in by_code.values()}
    states = [_state_row(record) for key, record in by_state.items() if key not in _stored_states]
    receipts = [_receipt_row(code, record) for (_, code), record in by_code.items()]
    with transaction.atomic():
        for statement, rows in ((_STATES, states), (_RECEIPTS, receipts)):
            if rows:
                prepared_statements.execute(statement, [list(column) for column in zip(*rows, strict=True)])
    if len(_stored) + len(_stored_states) > REMEMBERED:
        _stored.clear()
        _stored_states.clear()
    _stored.update(by_code)
    _stored_states.update(by_state)


_StateKey = tuple[int, str, datetime]
_stored: set[tuple[int, str]] = set()
_stored_states: set[_StateKey] = set()


def _state_key(record: ReceiptRecord) -> _StateKey:
    """Return the key of a state with the hour, so that its last use is stored at most once an hour."""
    return record.account_id, record.state_digest, record.at.replace(minute=0, second=0, microsecond=0)


def _state_row(record: ReceiptRecord) -> tuple[object, ...]:
    return (
        record.account_id,
        record.state_digest,
        encode_segments(record.manifest.all_segments).decode(),
        msgspec.json.encode(record.source_state).decode(),
        record.at,
    )


def _receipt_row(code: str, record: ReceiptRecord) -> tuple[object, ...]:
    first, last = record.days or (None, None)
    return (
        record.account_id,
        code,
        record.at,
        record.name,
        record.arguments.decode(),
        record.cost_access,
        record.state_digest,
        record.expressions,
        record.rates,
        record.engine,
        first,
        last,
        record.has_usage,
        escape_hidden(record.summary)[:MAX_SUMMARY],
        zlib.compress(record.answer),
    )


def forget() -> None:
    """Clear the queued receipts and the cache of stored ones: between tests."""
    recorder.forget()
    _code_of.cache_clear()
    _stored.clear()
    _stored_states.clear()


recorder: Recorder[_CodedRecord] = Recorder(
    store, lambda: float(settings.ACTIVITY_WRITE_SECONDS), noun="receipt", max_pending=MAX_PENDING
)
