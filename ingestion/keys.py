"""Usage keys at the push door: what one is, whom it stands for, whether it still lives.

Made as MCP keys are (`accounts/keys.py`), with a prefix of their own, so neither can pass for the other.
"""

from __future__ import annotations

import dataclasses
import hmac

from django.utils import timezone

from accounts.keys import digest_of, lookup_of
from accounts.models import Account
from finops.lib import prepared_statements

PREFIX = "fuse_"


@dataclasses.dataclass(frozen=True, slots=True)
class PushCredential:
    """A usage key that was alive when it was shown: whose events come, and by which source."""

    key_id: int
    source_id: int
    account: Account


# One statement: find, check, note the use. A last-used time may be lost in a crash, so its commit waits for no disk.
_USE = """
WITH loose AS (SELECT set_config('synchronous_commit', 'off', true))
UPDATE ingestion_usagekey k
   SET last_used_at = %(now)s
  FROM accounts_account a, loose
 WHERE k.lookup = %(lookup)s AND k.digest = %(digest)s AND k.revoked_at IS NULL AND a.id = k.account_id
RETURNING k.id, k.digest, k.source_id, a.id, a.name, a.slug, a.fiscal_start_month
"""


def authenticate_usage_key(plaintext: str) -> PushCredential | None:
    """What the living key that this is stands for, its use noted; None for anything else.

    Cost: one statement, none for text that is no usage key.
    """
    lookup = lookup_of(plaintext, PREFIX)
    if lookup is None:
        return None
    digest = digest_of(plaintext)
    rows = prepared_statements.fetch(_USE, {"lookup": lookup, "digest": digest, "now": timezone.now()})
    row = rows[0] if rows else None
    if row is None or not hmac.compare_digest(bytes(row[1]), digest):
        return None
    account = Account(id=row[3], name=row[4], slug=row[5], fiscal_start_month=row[6])
    return PushCredential(key_id=row[0], source_id=row[2], account=account)


# KEY SHARE, because pushes of one key and the last-used update above do not wait for each other under it; what ends
# a key takes FOR UPDATE first, which waits for all of them and makes later ones wait.
_LOCK_ACTIVE_KEY = "SELECT 1 FROM ingestion_usagekey WHERE id = %s AND revoked_at IS NULL FOR KEY SHARE"


def lock_active_key(key_id: int) -> bool:
    """Whether the key lives, and if so keep it living until the caller's transaction ends. One statement."""
    return bool(prepared_statements.fetch(_LOCK_ACTIVE_KEY, [key_id]))
