"""Writes on saved views. The caller checks permissions."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, User
from accounts.scoping import account_scope, existing, lock_account
from finops.costs import dependants
from finops.costs.models import SavedView
from finops.costs.spend_query import SpendQuery
from finops.lib import clock
from finops.lib.errors import UserError

MAX_SAVED_VIEWS: Final = 500
"""The maximum per account, including personal views."""


@transaction.atomic
def create_saved_view(
    *, account: Account, actor: Actor, name: str, query: SpendQuery, owner: User | None = None
) -> SavedView:
    """Save a question under a name, shared unless it has an owner. Raises UserError for an account at its maximum,
    ValidationError for a name that is empty, too long or taken."""
    with account_scope(account):
        lock_account(account)
        if SavedView.objects.count() >= MAX_SAVED_VIEWS:
            raise UserError(f"An account has at most {MAX_SAVED_VIEWS} saved views. Delete one first.")
        now = clock.now()
        view = SavedView(
            account=account,
            name=name.strip(),
            owner=owner,
            question=msgspec.to_builtins(query),
            created_by=actor.user,
            created_at=now,
            changed_at=now,
        )
        view.full_clean()
        view.save(force_insert=True)
        _record(view, actor, "saved_view.create", _snapshot(view))
    return view


@transaction.atomic
def change_saved_view(*, view: SavedView, actor: Actor, name: str, owner: User | None) -> SavedView:
    """Rename a view, share it (no owner), or make it personal. Raises as `create_saved_view`, UserError if deleted."""
    with account_scope(view.account):
        lock_account(view.account)
        row = existing(SavedView.objects.all(), view, "saved view")
        before = _snapshot(row)
        row.name, row.owner, row.changed_at = name.strip(), owner, clock.now()
        row.full_clean()
        row.save()
        _record(row, actor, "saved_view.change", {"from": before, "to": _snapshot(row)})
    return row


@transaction.atomic
def replace_saved_question(*, view: SavedView, actor: Actor, query: SpendQuery) -> SavedView:
    """Replace a view's question. Raises UserError for a deleted view."""
    with account_scope(view.account):
        lock_account(view.account)
        row = existing(SavedView.objects.all(), view, "saved view")
        row.question, row.changed_at = msgspec.to_builtins(query), clock.now()
        row.save(update_fields=["question", "changed_at"])
        _record(row, actor, "saved_view.replace_question", _snapshot(row))
    return row


@transaction.atomic
def delete_saved_view(*, view: SavedView, actor: Actor) -> None:
    """Delete a view. Raises UserError when it is already deleted."""
    with account_scope(view.account):
        lock_account(view.account)
        row = existing(SavedView.objects.all(), view, "saved view")
        snapshot = {**_snapshot(row), **dependants.audit_detail(row)}
        row.delete()
        _record(row, actor, "saved_view.delete", snapshot)


def _snapshot(view: SavedView) -> dict[str, Any]:
    return {"name": view.name, "shared": True} if view.is_shared else {"shared": False}


def _record(view: SavedView, actor: Actor, action: str, detail: dict[str, Any]) -> None:
    """Record the change; personal views are not recorded, so that administrators cannot read them in the log."""
    target = view.name if view.is_shared else "a personal view"
    audit.record(account=view.account, actor=actor, action=action, target=target, detail=detail)
