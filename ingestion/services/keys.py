"""Usage keys: generated on a push source, regenerated, revoked, and what one stands for at the push endpoint. One living
key a source.

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
from finops.lake.storage import locks
from finops.lib import clock
from finops.lib.errors import UserError
from ingestion.models import UsageKey, UsageSource, UsageUpload

PREFIX = "fuse_"


_TABLE: Final = "ingestion_usagekey"


@dataclasses.dataclass(frozen=True, slots=True)
class PushCredential(SourceCredential):
    """A usage key that was alive when it was shown: whose events come, and by which source."""


def authenticate_usage_key(plaintext: str) -> PushCredential | None:
    """What the living key that this is stands for, its use noted; None for anything else. Cost: one statement."""
    return authenticate_source_key(plaintext, prefix=PREFIX, table=_TABLE, credential=PushCredential)


def lock_active_key(key_id: int) -> bool:
    """Whether the key lives, and if so keep it living until the caller's transaction ends. One statement."""
    return lock_active_source_key(key_id, table=_TABLE)


@transaction.atomic
def generate_usage_key(*, source: UsageSource, actor: Actor) -> tuple[UsageKey, str]:
    """The first key of a push source, and its plaintext, which exists nowhere afterwards but with the caller.

    Raises UserError for a source that pulls, and for one that has a living key.
    """
    _lock_push_source(source)
    if _active_key(source) is not None:
        raise UserError(f"{source.name} has a key already. Regenerate it, or revoke it first.")
    return _new_key(source, actor, action="usage_key.generate")


@transaction.atomic
def regenerate_usage_key(
    *, source: UsageSource, actor: Actor, replaces: int | None = None
) -> tuple[UsageKey, str]:
    """A new key in the place of the living one, which is dead from the commit on, for pushes in flight too.

    `replaces`: only if that is the key that lives. Raises UserError otherwise, for a source that pulls, and for one
    without a living key.
    """
    _lock_push_source(source)
    old = _active_key(source)
    if old is None:
        raise UserError(f"{source.name} has no key to replace. Generate one.")
    if replaces not in (None, old.pk):
        raise UserError(
            "This key was already replaced, and a new key is shown only once. If nobody copied it, "
            "regenerate it."
        )
    _end(old)
    return _new_key(source, actor, action="usage_key.regenerate", replaces=old.pk)


@transaction.atomic
def revoke_usage_key(*, source: UsageSource, actor: Actor) -> None:
    """End the living key of a push source, for pushes in flight too. Twice is once.

    Raises UserError for a source that pulls.
    """
    _lock_push_source(source)
    key = _active_key(source)
    if key is None:
        return
    _end(key)
    _record(source, actor, "usage_key.revoke", id=key.pk)


def end_pushes(*, account: Account, source_id: int | None = None) -> None:
    """Wait for the pushes and uploads of an account, or of one source of it, that are storing; later ones wait for the
    caller's transaction and are refused when it has deleted the keys.

    Locks in the order of everything that ends usage, so no two wait for each other: the lake's (a void takes it before
    any row), sources (a regeneration has its source before the key), keys, uploads.
    """
    locks.lock_usage(account)
    # Unscoped: the caller found the account.
    sources = UsageSource.objects.unscoped().select_for_update(no_key=True).filter(account=account)
    if source_id is not None:
        sources = sources.filter(pk=source_id)
    source_ids = list(sources.order_by("pk").values_list("pk", flat=True))
    for rows in (UsageKey.objects.unscoped(), UsageUpload.objects.unscoped()):
        list(rows.select_for_update().filter(source_id__in=source_ids).order_by("pk").values_list("pk"))


def _lock_push_source(source: UsageSource) -> None:
    """Until the transaction ends nobody else changes the source's key. Raises UserError for a source that pulls."""
    # Unscoped: the caller found the source in its account. NO KEY: a push that has locked the key refers to the source
    # when it writes its batch, and would wait for us while we wait for it.
    row = UsageSource.objects.unscoped().select_for_update(no_key=True).get(pk=source.pk)
    if row.kind != UsageSource.Kind.PUSH:
        raise UserError(
            f"{row.name} pulls usage with a vendor's credential and has no API key. Create a Push/API "
            "source for your own backend."
        )


def _active_key(source: UsageSource) -> UsageKey | None:
    # FOR UPDATE waits for the pushes that are storing under this key, see ingestion/services/keys.py.
    keys = UsageKey.objects.unscoped().select_for_update()
    return keys.filter(source_id=source.pk, revoked_at=None).first()


def _end(key: UsageKey) -> None:
    key.revoked_at = clock.now()
    key.save(update_fields=["revoked_at"])


def _new_key(source: UsageSource, actor: Actor, *, action: str, **detail: object) -> tuple[UsageKey, str]:
    plaintext, lookup = new_secret(PREFIX)
    key = UsageKey(
        account_id=source.account_id,
        source=source,
        lookup=lookup,
        digest=digest_of(plaintext),
        created_by=actor.user,
        created_by_label=actor.label[:254],
    )
    key.save(force_insert=True)
    _record(source, actor, action, id=key.pk, **detail)
    return key, plaintext


def _record(source: UsageSource, actor: Actor, action: str, **detail: object) -> None:
    audit.record(account=source.account, actor=actor, action=action, target=source.name, detail=detail)
