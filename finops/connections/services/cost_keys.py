"""Cost keys: generated on a cost source that nothing is fetched for, regenerated, revoked, and what one stands for at
`/api/costs`. One living key a source.

Made as MCP keys are (`accounts/keys.py`), with a prefix of their own, so neither can pass for the other.
"""

from __future__ import annotations

import dataclasses
import hmac

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.keys import digest_of, lookup_of, new_secret
from accounts.models import Account
from finops.connections.models import CostConnection, CostKey
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source
from finops.lib import clock, prepared_statements
from finops.lib.errors import UserError

PREFIX = "fcst_"


class RevokedCostKey(Exception):
    """The key ended while its request was under way."""


@dataclasses.dataclass(frozen=True, slots=True)
class CostCredential:
    """A cost key that was alive when it was shown: whose rows come, and into which source."""

    key_id: int
    source_id: int
    account: Account
    lookup: str

    @property
    def actor(self) -> Actor:
        return Actor(label=f"Cost key {CostKey(lookup=self.lookup).masked_key}")


# One statement: find, check, note the use. A last-used time may be lost in a crash, so its commit waits for no disk.
_USE = """
WITH async_commit AS (SELECT set_config('synchronous_commit', 'off', true))
UPDATE connections_costkey k
   SET last_used_at = %(now)s
  FROM accounts_account a, async_commit
 WHERE k.lookup = %(lookup)s AND k.digest = %(digest)s AND k.revoked_at IS NULL AND a.id = k.account_id
RETURNING k.id, k.digest, k.source_id, a.id, a.name, a.slug, a.fiscal_start_month
"""


def authenticate_cost_key(plaintext: str) -> CostCredential | None:
    """What the living key that this is stands for, its use noted; None for anything else.

    Cost: one statement, none for text that is no cost key.
    """
    lookup = lookup_of(plaintext, PREFIX)
    if lookup is None:
        return None
    digest = digest_of(plaintext)
    rows = prepared_statements.fetch(_USE, {"lookup": lookup, "digest": digest, "now": clock.now()})
    row = rows[0] if rows else None
    if row is None or not hmac.compare_digest(bytes(row[1]), digest):
        return None
    account = Account(id=row[3], name=row[4], slug=row[5], fiscal_start_month=row[6])
    return CostCredential(key_id=row[0], source_id=row[2], account=account, lookup=lookup)


# KEY SHARE, under which requests with one key do not wait for each other; what ends a key takes FOR UPDATE.
_LOCK_ACTIVE_KEY = "SELECT 1 FROM connections_costkey WHERE id = %s AND revoked_at IS NULL FOR KEY SHARE"


def lock_living_key(credential: CostCredential) -> None:
    """Keep the key living until the caller's transaction ends. Raises RevokedCostKey when it has ended. One statement."""
    if not prepared_statements.fetch(_LOCK_ACTIVE_KEY, [credential.key_id]):
        raise RevokedCostKey


@transaction.atomic
def create_pushed_source(*, account: Account, actor: Actor, name: str) -> tuple[CostSource, CostKey, str]:
    """A new cost source for a program of one's own, with its key and the key's plaintext. Raises ValidationError for a name
    that is empty, too long or taken."""
    source = create_cost_source(account=account, name=name, actor=actor)
    key, plaintext = generate_cost_key(source=source, actor=actor)
    return source, key, plaintext


@transaction.atomic
def generate_cost_key(*, source: CostSource, actor: Actor) -> tuple[CostKey, str]:
    """The first key of a cost source, and its plaintext, which exists nowhere afterwards but with the caller.

    Raises UserError for a source that is fetched, and for one that has a living key.
    """
    _lock_source(source)
    if _living_key(source) is not None:
        raise UserError(f"{source.name} has a key already. Regenerate it, or revoke it first.")
    return _new_key(source, actor, "generate")


@transaction.atomic
def regenerate_cost_key(
    *, source: CostSource, actor: Actor, replaces: int | None = None
) -> tuple[CostKey, str]:
    """A new key in the place of the living one, which is dead from the commit on, for requests in flight too.

    `replaces`: only if that is the key that lives. Raises UserError otherwise, and for a source without a living key.
    """
    _lock_source(source)
    old = _living_key(source)
    if old is None:
        raise UserError(f"{source.name} has no key to replace. Generate one.")
    if replaces not in (None, old.pk):
        raise UserError(
            "This key was replaced already, and a new key is shown only once. If nobody kept it, regenerate it again."
        )
    _end(old)
    return _new_key(source, actor, "regenerate", replaces=old.pk)


@transaction.atomic
def revoke_cost_key(*, source: CostSource, actor: Actor) -> None:
    """End the living key of a source, for requests in flight too. Pushes that were committed go on. Twice is once."""
    _lock_source(source)
    key = _living_key(source)
    if key is None:
        return
    _end(key)
    _record(source, actor, "revoke", id=key.pk)


def _lock_source(source: CostSource) -> None:
    """Until the transaction ends nobody else changes the source's key. Raises UserError for a source that is fetched."""
    # Unscoped: the caller found the source in its account.
    CostSource.objects.unscoped().select_for_update(no_key=True).get(pk=source.pk)
    # Unscoped: of that source.
    if CostConnection.objects.unscoped().filter(source=source).exists():
        raise UserError(
            f"The files of {source.name} are fetched, so it has no key. Make a source of its own for what you push."
        )


def _living_key(source: CostSource) -> CostKey | None:
    # Unscoped: the caller found the source in its account. FOR UPDATE waits for requests under this key.
    keys = CostKey.objects.unscoped().select_for_update()
    return keys.filter(source_id=source.pk, revoked_at=None).first()


def _end(key: CostKey) -> None:
    key.revoked_at = clock.now()
    key.save(update_fields=["revoked_at"])


def _new_key(source: CostSource, actor: Actor, what: str, **detail: object) -> tuple[CostKey, str]:
    plaintext, lookup = new_secret(PREFIX)
    key = CostKey(
        account_id=source.account_id,
        source=source,
        lookup=lookup,
        digest=digest_of(plaintext),
        created_by=actor.user,
        created_by_label=actor.label[:254],
    )
    key.save(force_insert=True)
    _record(source, actor, what, id=key.pk, **detail)
    return key, plaintext


def _record(source: CostSource, actor: Actor, what: str, **detail: object) -> None:
    audit.record(
        account=source.account, actor=actor, action=f"cost_key.{what}", target=source.name, detail=detail
    )
