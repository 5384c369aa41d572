"""Keys of event sources for `/api/events` (`accounts/source_keys.py`)."""

from __future__ import annotations

import dataclasses
from typing import Final

from accounts.models import Account
from accounts.source_keys import SourceCredential, SourceKeys
from finops.change_events.models import EventKey, EventSource
from finops.lib.errors import UserError

PREFIX: Final = "fevt_"


@dataclasses.dataclass(frozen=True, slots=True)
class EventCredential(SourceCredential):
    """An active event key, with its account and source."""

    kind = "events"


def lock_source(source: EventSource) -> None:
    """Lock the source, so that its key cannot change until the end of the transaction. Raises UserError for a deleted
    source."""
    # Unscoped: the caller found the source in its account. NO KEY avoids a deadlock: a push that has locked the key
    # refers to the source when it stores its events, and would wait for this transaction, which waits for the push.
    rows = EventSource.objects.unscoped().select_for_update(no_key=True)
    if rows.filter(pk=source.pk).first() is None:
        raise UserError("That event source was already deleted.")


def _lock_push_source(source: EventSource) -> None:
    """Lock a source as `lock_source` does. Raises UserError also for a source that pulls."""
    lock_source(source)
    if source.kind != EventSource.Kind.PUSH:
        raise UserError(
            f"{source.name} pulls events with a vendor's credential and has no API key. Create a Push/API source for your own tools."
        )


def end_pushes(*, account: Account, source_id: int | None = None) -> None:
    """Wait for pushes in progress of an account, or of one of its sources. Later pushes wait for the caller's
    transaction and are refused if the transaction deleted the keys."""
    # Unscoped: the caller found the account. FOR UPDATE waits for requests under these keys.
    keys = EventKey.objects.unscoped().select_for_update().filter(account=account)
    if source_id is not None:
        keys = keys.filter(source_id=source_id)
    list(keys.order_by("pk").values_list("pk"))


EVENT_KEYS: Final = SourceKeys(EventKey, PREFIX, "event_key", EventCredential, _lock_push_source)
authenticate_event_key = EVENT_KEYS.authenticate
lock_active_key = EVENT_KEYS.lock
generate_event_key = EVENT_KEYS.generate
regenerate_event_key = EVENT_KEYS.regenerate
revoke_event_key = EVENT_KEYS.revoke
