"""Notes: change events that people write on charts of cost. The views and tools check permissions."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, time
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.change_events.event_rules import new_event, violation
from finops.change_events.models import ChangeEvent
from finops.lib.errors import UserError

MAX_NOTES: Final = 5_000
"""The maximum of notes in an account."""
NOON: Final = time(12, tzinfo=UTC)
"""The time of a note: noon (UTC) is on the same day in nearly every time zone."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoteDraft:
    """The contents of a note; `scope` is that of a change event."""

    day: date
    title: str
    scope: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    url: str = ""


@transaction.atomic
def create_note(*, account: Account, actor: Actor, draft: NoteDraft) -> ChangeEvent:
    """Create a note by the acting person. Raises UserError for a draft that is not a valid change event, and beyond
    MAX_NOTES."""
    with account_scope(account):
        lock_account(account)
        if ChangeEvent.objects.filter(origin=ChangeEvent.Origin.NOTE).count() >= MAX_NOTES:
            raise UserError(f"An account has up to {MAX_NOTES:,} notes. Delete some first.")
        note = ChangeEvent(
            account=account,
            origin=ChangeEvent.Origin.NOTE,
            kind=ChangeEvent.Kind.NOTE,
            created_by=actor.user,
            actor=(actor.user.name or actor.user.email) if actor.user else actor.label,
        )
        _fill(note, draft)
        note.save(force_insert=True)
        audit.record(
            account=account, actor=actor, action="note.create", target=note.title, detail=_snapshot(note)
        )
    return note


@transaction.atomic
def change_note(*, note: ChangeEvent, actor: Actor, draft: NoteDraft) -> ChangeEvent:
    """Change a note to the draft. Raises UserError as `create_note` does, and for a deleted note."""
    with account_scope(note.account):
        row = existing(_notes(), note, "note")
        before = _snapshot(row)
        _fill(row, draft)
        row.save()
        detail = {"from": before, "to": _snapshot(row)}
        audit.record(account=row.account, actor=actor, action="note.change", target=row.title, detail=detail)
    return row


@transaction.atomic
def delete_note(*, note: ChangeEvent, actor: Actor) -> None:
    """Delete a note. Raises UserError for a deleted note."""
    with account_scope(note.account):
        row = existing(_notes(), note, "note")
        account, title, detail = row.account, row.title, _snapshot(row)
        row.delete()
        audit.record(account=account, actor=actor, action="note.delete", target=title, detail=detail)


def _notes() -> QuerySet[ChangeEvent]:
    return ChangeEvent.objects.filter(origin=ChangeEvent.Origin.NOTE)


def _fill(note: ChangeEvent, draft: NoteDraft) -> None:
    fields = {
        "kind": ChangeEvent.Kind.NOTE.value,
        "title": draft.title,
        "url": draft.url,
        "scope": draft.scope,
    }
    if problem := violation(fields):
        raise UserError(f"{problem[:1].upper()}{problem[1:]}.", field=problem.partition(" ")[0])
    event = new_event(0, fields)
    note.title, note.url, note.scope = event.title, event.url, event.scope
    note.occurred_at = datetime.combine(draft.day, NOON)
    note.full_clean(exclude=["account"])


def _snapshot(note: ChangeEvent) -> dict[str, Any]:
    return {
        "day": str(note.occurred_at.astimezone(UTC).date()),
        "title": note.title,
        "url": note.url,
        "scope": note.scope,
    }
