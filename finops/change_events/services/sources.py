"""Writes of event sources: create, rename, delete."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import EventSource
from finops.change_events.services.keys import end_pushes, lock_source


@transaction.atomic
def create_event_source(
    *, account: Account, actor: Actor, name: str, kind: str = EventSource.Kind.PUSH.value
) -> EventSource:
    """Create a source without a key. Raises ValidationError for a name that is empty, too long or taken."""
    source = EventSource(account=account, name=name.strip(), kind=kind, created_by=actor.user)
    with account_scope(account):
        source.full_clean()
    source.save(force_insert=True)
    audit.record(
        account=account,
        actor=actor,
        action="event_source.create",
        target=source.name,
        detail={"kind": source.kind},
    )
    return source


@transaction.atomic
def rename_event_source(*, source: EventSource, actor: Actor, name: str) -> None:
    """Rename a source; its key and events stay. Raises ValidationError as `create_event_source` does."""
    before, source.name = source.name, name.strip()
    with account_scope(source.account):
        source.full_clean()
    source.save(update_fields=["name"])
    detail = {"from": before, "to": source.name}
    audit.record(
        account=source.account, actor=actor, action="event_source.rename", target=source.name, detail=detail
    )


@transaction.atomic
def delete_event_source(*, source: EventSource, actor: Actor) -> None:
    """Delete a source with its key and events; its events stay on the meter. Waits for a push in progress, whose
    events are deleted too; later ones get 401. Raises UserError for a source that is already deleted."""
    account, name = source.account, source.name
    lock_source(source)
    end_pushes(account=account, source_id=source.pk)
    source.delete()
    audit.record(account=account, actor=actor, action="event_source.delete", target=name)
