"""Shared saved views in configuration as code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.configuration.kind import Bodies, Body, ConfigurationKind, body_of, read_entry
from finops.costs.models import SavedView
from finops.costs.services import saved_views
from finops.costs.spend_query import SpendQuery


class _SavedViewEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    question: SpendQuery


def _rows() -> dict[str, Body]:
    return {row.name: _body(_SavedViewEntry(name=row.name, question=row.query)) for row in _shared_views()}


def _shared_views() -> list[SavedView]:
    return list(SavedView.objects.filter(owner=None))


def _body(entry: _SavedViewEntry) -> Body:
    return {"name": entry.name, "question": body_of(entry.question)}


def _read(raw: Any) -> tuple[str, Body]:
    entry = read_entry(raw, _SavedViewEntry)
    return entry.name.strip(), _body(msgspec.structs.replace(entry, name=entry.name.strip()))


def _write(account: Account, actor: Actor, bodies: Bodies) -> None:
    rows = {row.name.casefold(): row for row in _shared_views()}
    for name, body in bodies.items():
        query = msgspec.convert(body["question"], SpendQuery, strict=False)
        row = rows.get(name.casefold())
        if row is None:
            saved_views.create_saved_view(account=account, actor=actor, name=name, query=query)
            continue
        if row.name != name:
            saved_views.change_saved_view(view=row, actor=actor, name=name, owner=None)
        saved_views.replace_saved_question(view=row, actor=actor, query=query)


def _delete(actor: Actor, names: Sequence[str]) -> None:
    for row in SavedView.objects.filter(owner=None, name__in=names):
        saved_views.delete_saved_view(view=row, actor=actor)


KIND: Final = ConfigurationKind("saved_views", _rows, _read, _write, _delete)
