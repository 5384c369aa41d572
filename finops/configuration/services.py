"""Configuration as code: an account's teams, cost tags, splits, unit metrics, AI prices, budgets and more as one file, planned and applied whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, lock_account
from finops.allocation.rules.yaml import read_yaml, write_yaml
from finops.configuration.kind import Bodies, Body, ConfigurationKind
from finops.configuration.kinds import KINDS
from finops.lib.errors import UserError, unknown_value

VERSION = "1"


@dataclass(frozen=True)
class ConfigurationChange:
    """What applying a file does to one row. `before` is None for a new one, `after` for one that goes."""

    kind: str
    name: str
    before: Body | None
    after: Body | None

    @property
    def action(self) -> str:
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    @property
    def fields(self) -> list[str]:
        """What differs, by name; empty for a row that is new or goes."""
        before, after = self.before or {}, self.after or {}
        if not before or not after:
            return []
        return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def export_configuration(account: Account, kinds: Collection[str] = ()) -> str:
    """The account's configuration as a YAML file, of these kinds (left out: all). Applied to the same account it changes
    nothing. Raises UserError for a kind that does not exist."""
    names = [kind.name for kind in KINDS]
    for name in kinds:
        if name not in names:
            raise unknown_value("kind", name, names, show=str)
    with account_scope(account):
        rows = {kind.name: list(kind.rows().values()) for kind in KINDS if not kinds or kind.name in kinds}
    return write_yaml({"version": VERSION, **rows})


def configuration_rows(account: Account, kind: str) -> dict[str, Body]:
    """The rows of one kind by name, as a file has them. `kind` is one of KINDS."""
    with account_scope(account):
        return next(each for each in KINDS if each.name == kind).rows()


def plan_configuration(account: Account, text: str, *, delete: bool = False) -> list[ConfigurationChange]:
    """What applying a file would do, kind by kind, what follows from it too: a budget that goes takes its alerts along.
    With `delete`, rows of the kinds in the file go that it leaves out.

    The file is applied and rolled back, so it raises UserError for all that `apply_configuration` refuses. Meanwhile
    the account's other writes wait.
    """
    with transaction.atomic():
        changes = apply_configuration(
            account=account, actor=Actor.command("configuration plan"), text=text, delete=delete
        )
        transaction.set_rollback(True)
    return changes


@transaction.atomic
def apply_configuration(
    *, account: Account, actor: Actor, text: str, delete: bool = False
) -> list[ConfigurationChange]:
    """Make the account what a file says, all or nothing, and give what changed. Applied again it changes nothing.

    Raises UserError with the entry and the reason for a file that cannot be read, with the kind and the reason for what
    a service refuses; nothing is written then.
    """
    configuration = _read(text)
    with account_scope(account):
        lock_account(account)
        before = _all_rows()
        candidates = [
            change
            for kind, bodies in configuration.items()
            for change in _differences(kind, before[kind], bodies, delete=delete)
        ]
        with transaction.atomic():
            _write(account, actor, candidates)
            after = _all_rows()
            changes = [change for kind in after for change in _differences(kind, before[kind], after[kind])]
            effective = _effective(candidates, changes)
            if len(effective) < len(candidates):
                transaction.set_rollback(True)
        if len(effective) < len(candidates):
            _write(account, actor, effective)
    return changes


def _all_rows() -> dict[str, dict[str, Body]]:
    return {kind.name: kind.rows() for kind in KINDS}


def _effective(
    candidates: Sequence[ConfigurationChange], changes: Sequence[ConfigurationChange]
) -> list[ConfigurationChange]:
    """The changes that have an effect: services accept spellings that a file does not have, such as `core` for team Core."""
    names = {(each.kind, each.name.casefold()) for each in changes}
    return [each for each in candidates if each.before is None or (each.kind, each.name.casefold()) in names]


def _write(account: Account, actor: Actor, changes: Sequence[ConfigurationChange]) -> None:
    """What rows that go hold is released first, for rows that want it; they go last, after what names them."""
    deletions = {
        kind.name: [each.name for each in changes if each.kind == kind.name and each.action == "delete"]
        for kind in KINDS
    }
    for kind in KINDS:
        with _named_errors(kind):
            if kind.release:
                kind.release(actor, deletions[kind.name])
    for kind in KINDS:
        bodies = {each.name: each.after for each in changes if each.kind == kind.name and each.after}
        with _named_errors(kind):
            kind.write(account, actor, bodies)
    for kind in reversed(KINDS):
        with _named_errors(kind):
            kind.delete(actor, deletions[kind.name])


@contextmanager
def _named_errors(kind: ConfigurationKind) -> Iterator[None]:
    """What a service refuses, with the kind in front. Raises UserError."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{kind.name}: {error.message}", field=error.field) from error
    except ValidationError as error:
        raise UserError(f"{kind.name}: {' '.join(error.messages)}") from error


def _differences(
    kind: str, before: Bodies, after: Bodies, *, delete: bool = True
) -> Iterator[ConfigurationChange]:
    """Names are compared without regard to case, as those of the console."""
    current = {name.casefold(): body for name, body in before.items()}
    for name, body in after.items():
        old = current.get(name.casefold())
        if old != body:
            yield ConfigurationChange(kind, name, old, body)
    names = {name.casefold() for name in after}
    for name, body in before.items() if delete else ():
        if name.casefold() not in names:
            yield ConfigurationChange(kind, name, body, None)


def _read(text: str) -> dict[str, dict[str, Body]]:
    """The rows of each kind that a file has. Raises UserError with the entry and the reason."""
    document = read_yaml(text)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise UserError(f"version: the file must begin with version: {VERSION}.", field="version")
    kinds = {kind.name: kind for kind in KINDS}
    rows: dict[str, dict[str, Body]] = {}
    for name, entries in document.items():
        if name == "version":
            continue
        if name not in kinds:
            raise unknown_value("kind", name, list(kinds), show=str)
        rows[name] = _read_entries(kinds[name], entries or [])
    return rows


def _read_entries(kind: ConfigurationKind, entries: Any) -> dict[str, Body]:
    if not isinstance(entries, list):
        raise UserError(f"{kind.name} must be a list.", field=kind.name)
    rows: dict[str, Body] = {}
    for number, raw in enumerate(entries, 1):
        try:
            name, body = kind.read(raw)
        except msgspec.ValidationError as error:
            raise UserError(f"{kind.name}, entry {number}: {error}.", field=kind.name) from error
        except UserError as error:
            raise UserError(f"{kind.name}, entry {number}: {error.message}", field=kind.name) from error
        if name.casefold() in {each.casefold() for each in rows}:
            raise UserError(f"{kind.name}, entry {number}: {name!r} is in the file twice.", field=kind.name)
        rows[name] = body
    return rows
