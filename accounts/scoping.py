"""Rows of an account are reachable only while that account is in scope (ring 2 of ADR 0001).

`Model.objects` is filtered by the account in scope and raises with none. `Model.objects.unscoped()` is the explicit,
greppable exception (code that resolves a credential, sweeps over all accounts). Limits: related access (`row.account`) goes
through Django's base manager, and raw SQL is not filtered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import models

from finops.lib.errors import UserError

if TYPE_CHECKING:
    from accounts.models import Account

_scope: ContextVar[Account | None] = ContextVar("account_scope", default=None)

M = TypeVar("M", bound=models.Model)


class NoAccountInScope(RuntimeError):
    """An account-owned model was queried without an account in scope."""


def current_account() -> Account:
    """Return the account of the innermost scope. Raises NoAccountInScope outside of every scope."""
    account = _scope.get()
    if account is None:
        raise NoAccountInScope(
            "no account is in scope: wrap the call in accounts.scoping.account_scope(account)"
        )
    return account


@contextmanager
def account_scope(account: Account) -> Iterator[Account]:
    """Restrict account-owned models to this account's rows inside the block. Scopes nest; the innermost counts."""
    token = _scope.set(account)
    try:
        yield account
    finally:
        _scope.reset(token)


def lock_account(account: Account) -> None:
    """Lock the account until the commit: its writers wait for each other, so counts, names and checks stay correct."""
    type(account)._default_manager.select_for_update(no_key=True).get(pk=account.pk)


def existing(rows: models.QuerySet[M], row: M, noun: str) -> M:
    """Return the row's current state, from `rows`. Raises UserError when it was deleted meanwhile."""
    current = rows.filter(pk=row.pk).first()
    if current is None:
        raise UserError(f"That {noun} was already deleted.")
    return current


class ScopedManager(models.Manager[M]):
    use_in_migrations = False

    def get_queryset(self) -> models.QuerySet[M]:
        return super().get_queryset().filter(account=current_account())

    def unscoped(self) -> models.QuerySet[M]:
        """Return rows of every account. Each use has a comment with its reason."""
        return super().get_queryset()

    def create(self, **kwargs: Any) -> M:
        kwargs.setdefault("account", current_account())
        return super().create(**kwargs)


class AccountModel(models.Model):
    """A row that belongs to one account."""

    account: models.ForeignKey[Account, Account] = models.ForeignKey(
        "accounts.Account", on_delete=models.CASCADE, related_name="+"
    )

    objects = ScopedManager()

    class Meta:
        abstract = True
