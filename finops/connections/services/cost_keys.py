"""Cost keys: generated on a cost source that nothing is fetched for, regenerated, revoked, and what one stands for at
`/api/costs`. One living key a source.

Made as MCP keys are (`accounts/keys.py`), with a prefix of their own, so neither can pass for the other.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.keys import digest_of, new_secret
from accounts.models import Account
from accounts.source_keys import SourceCredential, authenticate_source_key, lock_active_source_key
from finops.connections.models import CostConnection, CostKey
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source
from finops.lib import clock
from finops.lib.errors import UserError

PREFIX: Final = "fcst_"
_TABLE: Final = "connections_costkey"


class RevokedCostKey(Exception):
    """The key ended while its request was under way."""


@dataclasses.dataclass(frozen=True, slots=True)
class CostCredential(SourceCredential):
    """A cost key that was alive when it was shown: whose rows come, and into which source."""

    @property
    def actor(self) -> Actor:
        return Actor(label=f"Cost key {CostKey(lookup=self.lookup).masked_key}")


def authenticate_cost_key(plaintext: str) -> CostCredential | None:
    """What the living key that this is stands for, its use noted; None for anything else. Cost: one statement."""
    return authenticate_source_key(plaintext, prefix=PREFIX, table=_TABLE, credential=CostCredential)


def lock_living_key(credential: CostCredential) -> None:
    """Keep the key living until the caller's transaction ends. Raises RevokedCostKey when it has ended. One statement."""
    if not lock_active_source_key(credential.key_id, table=_TABLE):
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
        raise UserError("This key was already replaced. If nobody copied the new key, regenerate it again.")
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
            f"{source.name} is synced, so it has no API key. Create a separate source for pushes."
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
