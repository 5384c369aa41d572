"""What an operator may do with a row: a button, a page that asks again, a service, a line in the operator log."""

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
    """`run` calls a service, which validates and audits, and returns what happened in a sentence; it raises UserError for what
    cannot be done. `effect` is what the page that asks again says. `is_offered` says of which rows the button is. `form` takes
    the row and the POST data; its values go to `run` as `values`."""

    label: str
    effect: str
    run: Callable[..., str]
    is_offered: Callable[[Any], bool] = lambda row: True
    is_danger: bool = False
    preview: Callable[[Any], list[tuple[str, int]]] | None = None
    """What it would concern, with counts: the dry run on the page that asks again."""
    begin: Callable[[HttpRequest, Any], str] | None = None
    """What follows in the operator's session once it is done, and where she goes; by default to the row's page."""
    form: Callable[[Any, Mapping[str, Any] | None], Form] | None = None


row_actions: Registry[dict[str, RowAction]] = Registry("actions of a model")
"""By the label of the model (`accounts.Account`): its actions by name, which is a part of their address."""


def service_call(
    service: Callable[..., object], argument: str, outcome: str, **options: object
) -> Callable[[Any, Actor], str]:
    """The `run` of an action that is one call of a service; `argument` is what the service calls the row."""

    def run(row: Any, actor: Actor) -> str:
        service(**{argument: row}, actor=actor, **options)
        return outcome

    return run


def offered_actions(row: Row) -> dict[str, RowAction]:
    """The actions that the row as it is now has."""
    actions = row_actions.get(row._meta.label, {})
    return {name: action for name, action in actions.items() if action.is_offered(row)}


def operator_actor(user: User) -> Actor:
    """As whom an operator's act stands in the account's audit log."""
    return Actor(label=f"Operator {user.email}", user=user)


@transaction.atomic
def run_action(
    *, row: Row, action: RowAction, operator: User, values: Mapping[str, Any] | None = None
) -> str:
    """Do it with the row's account in scope, and note it in the operator log; what happened. Raises UserError as the service
    does."""
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
    """A line in the operator log, which never has a secret."""
    LogEntry.objects.create(
        user=operator,
        content_type=ContentType.objects.get_for_model(model),
        object_id=pk,
        object_repr=name[:200],
        action_flag=flag,
        change_message=message,
    )
