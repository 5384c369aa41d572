"""Keys of sources, which programs push with: what one stands for. Usage keys and cost keys have a table each of one shape."""

from __future__ import annotations

import dataclasses
import functools
import hmac
import json
from typing import TypeVar

from accounts.keys import digest_of, lookup_of
from accounts.models import Account
from finops.lib import clock, prepared_statements


@dataclasses.dataclass(frozen=True, slots=True)
class SourceCredential:
    """A key that was alive when it was shown: whose rows come, and into which source."""

    key_id: int
    source_id: int
    account: Account
    lookup: str


C = TypeVar("C", bound=SourceCredential)

# One statement: find, check, note the use. A last-used time may be lost in a crash, so its commit waits for no disk.
_USE = """
WITH async_commit AS (SELECT set_config('synchronous_commit', 'off', true))
UPDATE {table} k
   SET last_used_at = %(now)s
  FROM accounts_account a, async_commit
 WHERE k.lookup = %(lookup)s AND k.digest = %(digest)s AND k.revoked_at IS NULL AND a.id = k.account_id
RETURNING k.id, k.digest, k.source_id, a.id, a.name, a.slug, a.fiscal_start_month, a.suspended_at,
    a.limits::text
"""
# KEY SHARE, because requests with one key and the last-used update above do not wait for each other under it; what ends
# a key takes FOR UPDATE first, which waits for all of them and makes later ones wait.
_LOCK = "SELECT 1 FROM {table} WHERE id = %s AND revoked_at IS NULL FOR KEY SHARE"


def authenticate_source_key(plaintext: str, *, prefix: str, table: str, credential: type[C]) -> C | None:
    """What the living key that this is stands for, its use noted; None for anything else.

    Cost: one statement, none for text that is no key with this prefix.
    """
    lookup = lookup_of(plaintext, prefix)
    if lookup is None:
        return None
    digest = digest_of(plaintext)
    values = {"lookup": lookup, "digest": digest, "now": clock.now()}
    rows = prepared_statements.fetch(_of_table(_USE, table), values)
    row = rows[0] if rows else None
    if row is None or not hmac.compare_digest(bytes(row[1]), digest):
        return None
    names = ("id", "name", "slug", "fiscal_start_month", "suspended_at")
    account = Account(**dict(zip(names, row[3:8], strict=True)), limits=json.loads(row[8]))
    return credential(key_id=row[0], source_id=row[2], account=account, lookup=lookup)


def lock_active_source_key(key_id: int, *, table: str) -> bool:
    """Whether the key lives, and if so keep it living until the caller's transaction ends. One statement."""
    return bool(prepared_statements.fetch(_of_table(_LOCK, table), [key_id]))


@functools.cache
def _of_table(statement: str, table: str) -> str:
    return statement.format(table=table)
