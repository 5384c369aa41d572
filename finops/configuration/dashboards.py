"""Shared dashboards in configuration as code. Budgets of a widget are named: ids are another account's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.budgets.models import Budget
from finops.budgets.scopes import visible_budgets
from finops.configuration.kind import Bodies, Body, ConfigurationKind, read_entry
from finops.dashboards import services
from finops.dashboards.layouts import WidgetDraft
from finops.dashboards.models import Dashboard, Widget
from finops.dashboards.placement import Place
from finops.dashboards.widgets import CATALOGUE
from finops.lib.errors import unknown_value

_BUDGETS: Final = "budgets"


class _Position(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    x: int
    y: int
    w: int
    h: int


class _WidgetEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place is needed: one that the board chose would be a change the next time."""

    type: str
    position: _Position
    title: str = ""
    config: dict[str, Any] = {}


class _DashboardEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    widgets: list[_WidgetEntry] = []


def _rows() -> dict[str, Body]:
    budgets = Budget.objects.select_related("cost_source", "team", "cost_tag")
    names = {row.pk: row.name for row in visible_budgets(budgets)}
    rows = Dashboard.objects.filter(owner=None).prefetch_related("widgets")
    return {
        row.name: _body(row.name, [_entry(widget, names) for widget in row.widgets.all()]) for row in rows
    }


def _body(name: str, widgets: Sequence[_WidgetEntry]) -> Body:
    return {"name": name, "widgets": [msgspec.to_builtins(each) for each in widgets]}


def _entry(widget: Widget, names: Mapping[int, str]) -> _WidgetEntry:
    """A budget that is gone is left out, as the board leaves it out."""
    config: Body = msgspec.to_builtins(CATALOGUE[widget.type].read_config(widget.config))
    if _BUDGETS in config:
        config[_BUDGETS] = sorted(names[pk] for pk in config[_BUDGETS] if pk in names)
    position = _Position(x=widget.x, y=widget.y, w=widget.w, h=widget.h)
    return _WidgetEntry(type=widget.type, title=widget.title, config=config, position=position)


def _read(raw: Any) -> tuple[str, Body]:
    entry = read_entry(raw, _DashboardEntry)
    return entry.name.strip(), _body(
        entry.name.strip(),
        [_whole(each, f"widgets[{index}].config") for index, each in enumerate(entry.widgets)],
    )


def _whole(entry: _WidgetEntry, place: str) -> _WidgetEntry:
    """With every setting of its type, as an export has it. Raises UserError for an unknown type or setting."""
    if entry.type not in CATALOGUE:
        raise unknown_value("type", entry.type, CATALOGUE, show=str)
    kind = CATALOGUE[entry.type]
    settings = dict(entry.config)
    names = settings.pop(_BUDGETS, None) if _BUDGETS in kind.config.__struct_fields__ else None
    config: Body = msgspec.to_builtins(read_entry(settings, kind.config, place))
    if names:
        config[_BUDGETS] = sorted(msgspec.convert(names, list[str]))
    return msgspec.structs.replace(entry, config=config)


def _write(account: Account, actor: Actor, bodies: Bodies) -> None:
    ids = {name: pk for pk, name in Budget.objects.values_list("pk", "name")}
    rows = {row.name.casefold(): row for row in Dashboard.objects.filter(owner=None)}
    for name, body in bodies.items():
        drafts = [_draft(each, ids) for each in msgspec.convert(body, _DashboardEntry, strict=False).widgets]
        row = rows.get(name.casefold())
        if row is None:
            services.create_dashboard(account=account, actor=actor, name=name, widgets=drafts)
            continue
        if row.name != name:
            services.change_dashboard(dashboard=row, actor=actor, name=name, owner=None)
        services.set_dashboard_widgets(dashboard=row, actor=actor, widgets=drafts)


def _draft(entry: _WidgetEntry, ids: Mapping[str, int]) -> WidgetDraft:
    """Raises UserError for a budget that the account does not have."""
    config = dict(entry.config)
    for name in config.get(_BUDGETS, []):
        if name not in ids:
            raise unknown_value("budgets", name, ids)
    if _BUDGETS in config:
        config[_BUDGETS] = [ids[name] for name in config[_BUDGETS]]
    kind, at = CATALOGUE[entry.type], entry.position
    place = Place(at.x, at.y, at.w, at.h)
    return WidgetDraft(
        type=kind, config=kind.read_config(config), title=entry.title, place=place, plans_ahead=True
    )


def _delete(actor: Actor, names: Sequence[str]) -> None:
    for row in Dashboard.objects.filter(owner=None, name__in=names):
        services.delete_dashboard(dashboard=row, actor=actor)


KIND = ConfigurationKind("dashboards", _rows, _read, _write, _delete)
