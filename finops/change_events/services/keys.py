"""Event keys: generated on an event source, regenerated, revoked, and what one stands for at `/api/events`. One living key
a source. Made as usage keys are (`ingestion/services/keys.py`), with a prefix of their own.
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
from finops.change_events.models import EventKey, EventSource
from finops.lib import clock
from finops.lib.errors import UserError

PREFIX: Final = "fevt_"
_TABLE: Final = "change_events_eventkey"


@dataclasses.dataclass(frozen=True, slots=True)
class EventCredential(SourceCredential):
    """An event key that was alive when it was shown: whose events come, and by which source."""


def authenticate_event_key(plaintext: str) -> EventCredential | None:
    """What the living key that this is stands for, its use noted; None for anything else. Cost: one statement."""
    return authenticate_source_key(plaintext, prefix=PREFIX, table=_TABLE, credential=EventCredential)


def lock_active_key(key_id: int) -> bool:
    """Whether the key lives, and if so keep it living until the caller's transaction ends. One statement."""
    return lock_active_source_key(key_id, table=_TABLE)


@transaction.atomic
def generate_event_key(*, source: EventSource, actor: Actor) -> tuple[EventKey, str]:
    """The first key of a source, and its plaintext, which exists nowhere afterwards but with the caller.

    Raises UserError for a source that has a living key.
    """
    lock_source(source)
    if _active_key(source) is not None:
        raise UserError(f"{source.name} has a key already. Regenerate it, or revoke it first.")
    return _new_key(source, actor, "generate")


@transaction.atomic
def regenerate_event_key(
    *, source: EventSource, actor: Actor, replaces: int | None = None
) -> tuple[EventKey, str]:
    """A new key in the place of the living one, which is dead from the commit on, for requests in flight too.

    `replaces`: only if that is the key that lives. Raises UserError otherwise, and for a source without a living key.
    """
    lock_source(source)
    old = _active_key(source)
    if old is None:
        raise UserError(f"{source.name} has no key to replace. Generate one.")
    if replaces not in (None, old.pk):
        raise UserError("This key was already replaced. If nobody copied the new key, regenerate it again.")
    _end(old)
    return _new_key(source, actor, "regenerate", replaces=old.pk)


@transaction.atomic
def revoke_event_key(*, source: EventSource, actor: Actor) -> None:
    """End the living key of a source, for requests in flight too. Twice is once."""
    lock_source(source)
    key = _active_key(source)
    if key is None:
        return
    _end(key)
    _record(source, actor, "revoke", id=key.pk)


def lock_source(source: EventSource) -> None:
    """Until the transaction ends nobody else changes the source's key. Raises UserError for a source that is deleted."""
    # Unscoped: the caller found the source in its account. NO KEY: a push that has locked the key refers to the source
    # when it stores its events, and would wait for us while we wait for it.
    rows = EventSource.objects.unscoped().select_for_update(no_key=True)
    if rows.filter(pk=source.pk).first() is None:
        raise UserError("That event source was already deleted.")


def end_pushes(*, account: Account, source_id: int | None = None) -> None:
    """Wait for the pushes of an account, or of one source of it, that are storing; later ones wait for the caller's
    transaction and are refused when it has deleted the keys."""
    # Unscoped: the caller found the account. FOR UPDATE waits for requests under these keys.
    keys = EventKey.objects.unscoped().select_for_update().filter(account=account)
    if source_id is not None:
        keys = keys.filter(source_id=source_id)
    list(keys.order_by("pk").values_list("pk"))


def _active_key(source: EventSource) -> EventKey | None:
    # Unscoped: of the caller's source. FOR UPDATE waits for the pushes that are storing under this key.
    keys = EventKey.objects.unscoped().select_for_update()
    return keys.filter(source_id=source.pk, revoked_at=None).first()


def _end(key: EventKey) -> None:
    key.revoked_at = clock.now()
    key.save(update_fields=["revoked_at"])


def _new_key(source: EventSource, actor: Actor, what: str, **detail: object) -> tuple[EventKey, str]:
    plaintext, lookup = new_secret(PREFIX)
    key = EventKey(
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


def _record(source: EventSource, actor: Actor, what: str, **detail: object) -> None:
    audit.record(
        account=source.account, actor=actor, action=f"event_key.{what}", target=source.name, detail=detail
    )
