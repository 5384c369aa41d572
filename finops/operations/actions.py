"""Operators' actions on a row: a button, a confirmation page, a service, an entry in the operator log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest

from accounts.audit import Actor
from accounts.models import User
from accounts.scoping import AccountModel, account_scope
from finops.lib.registry import Registry
from finops.operations.rows import Row, row_name


@dataclass(frozen=True)
class RowAction:
    """An action. `run` calls a service, which validates and audits, and returns the result in a sentence; it raises
    UserError if the action is impossible. `effect` is the text of the confirmation page. `is_offered` says which rows have
    the button. `form` takes the row and the POST data; its values are passed to `run` as `values`."""

    label: str
    effect: str
    run: Callable[..., str]
    is_offered: Callable[[Any], bool] = lambda row: True
    is_danger: bool = False
    preview: Callable[[Any], list[tuple[str, int]]] | None = None
    """Return what the action would affect, with counts: the dry run on the confirmation page."""
    begin: Callable[[HttpRequest, Any], str] | None = None
    """Called after the action with the operator's session, and returns the next page; by default the row's page."""
    form: Callable[[Any, Mapping[str, Any] | None], Form] | None = None


row_actions: Registry[dict[str, RowAction]] = Registry("actions of a model")
"""Actions by the model's label (`accounts.Account`), then by name, which is a part of their URL."""


def service_call(
    service: Callable[..., object], argument: str, outcome: str, **options: object
) -> Callable[[Any, Actor], str]:
    """Return the `run` of an action that is one call of a service; `argument` is the service's parameter for the row."""

    def run(row: Any, actor: Actor) -> str:
        service(**{argument: row}, actor=actor, **options)
        return outcome

    return run


def offered_actions(row: Row) -> dict[str, RowAction]:
    """The actions that the row offers in its current state."""
    actions = row_actions.get(row._meta.label, {})
    return {name: action for name, action in actions.items() if action.is_offered(row)}


def operator_actor(user: User) -> Actor:
    """The actor of an operator's action in the account's audit log."""
    return Actor(label=f"Operator {user.email}", user=user)


@transaction.atomic
def run_action(
    *, row: Row, action: RowAction, operator: User, values: Mapping[str, Any] | None = None
) -> str:
    """Run the action with the row's account in scope, record it in the operator log, and return the result. Raises
    UserError as the service does."""
    name, model, pk = row_name(row), type(row), str(row.pk)
    scope = account_scope(row.account) if isinstance(row, AccountModel) else nullcontext()
    with scope:
        extra = {} if values is None else {"values": values}
        outcome = action.run(row, operator_actor(operator), **extra)
    log_act(
        operator=operator, model=model, pk=pk, name=name, flag=CHANGE, message=f"{action.label}: {outcome}"
    )
    return outcome


def log_act(*, operator: User, model: type[Row], pk: str, name: str, flag: int, message: str) -> None:
    """Add an entry to the operator log, which never has a secret."""
    LogEntry.objects.create(
        user=operator,
        content_type=ContentType.objects.get_for_model(model),
        object_id=pk,
        object_repr=name[:200],
        action_flag=flag,
        change_message=message,
    )
