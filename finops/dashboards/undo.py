"""A person's last changes to boards, stored in the session, and how to undo them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from django.contrib.sessions.backends.base import SessionBase

from accounts.audit import Actor
from finops.dashboards import services
from finops.dashboards.layouts import WidgetDraft, draft_of
from finops.dashboards.models import Dashboard, Widget
from finops.dashboards.placement import Place
from finops.dashboards.widgets import CATALOGUE
from finops.lib.errors import UserError

KEY: Final = "board_changes"
MAX_CHANGES: Final = 5
"""The maximum of changes: each is up to 18 KB (`layouts.MAX_LAYOUT_BYTES`) of the session."""


@contextmanager
def undoable(session: SessionBase, dashboard: Dashboard, description: str) -> Iterator[None]:
    """A context around a change of a board's widgets that stores the earlier ones for undo. A change that fails or
    changes nothing is not stored. Two queries."""
    before = _rows(dashboard)
    yield
    after = _rows(dashboard)
    if _digest(after) != _digest(before):
        change = {"dashboard": dashboard.pk, "what": description, "widgets": before, "after": _digest(after)}
        session[KEY] = [*session.get(KEY, []), change][-MAX_CHANGES:]


def last_change(session: SessionBase, dashboard: Dashboard) -> str:
    """Return the change of this board that can be undone; empty without one, or if another person changed it."""
    change = _last(session, dashboard)
    return f"Undo: {change['what']}" if change and _is_current(change, dashboard) else ""


def undo(session: SessionBase, dashboard: Dashboard, actor: Actor) -> str:
    """Undo the last change of this board and return it. Raises UserError without one, if another person changed the
    board since, and as `services.restore_widgets` does."""
    change = _last(session, dashboard)
    if change is None:
        raise UserError("There is no change to undo.")
    if not _is_current(change, dashboard):
        raise UserError("The dashboard has changed since. Its last change cannot be undone.")
    rows = [(row["id"], _draft(row)) for row in change["widgets"]]
    services.restore_widgets(dashboard=dashboard, actor=actor, rows=rows)
    session[KEY] = [each for each in session[KEY] if each is not change]
    return str(change["what"])


def _last(session: SessionBase, dashboard: Dashboard) -> dict[str, Any] | None:
    changes = reversed(session.get(KEY, []))
    return next((each for each in changes if each["dashboard"] == dashboard.pk), None)


def _is_current(change: dict[str, Any], dashboard: Dashboard) -> bool:
    return bool(change["after"] == _digest(_rows(dashboard)))


def _digest(rows: list[dict[str, Any]]) -> str:
    """Return a digest of a board's content and places, without ids: a restored widget has another id."""
    contents = [[row["type"], row["title"], row["config"], row["place"]] for row in rows]
    return hashlib.sha256(msgspec.json.encode(contents, order="sorted")).hexdigest()


def _rows(dashboard: Dashboard) -> list[dict[str, Any]]:
    return [_row(widget) for widget in dashboard.widgets.all()]


def _row(widget: Widget) -> dict[str, Any]:
    draft = draft_of(widget)
    return {
        "id": widget.pk,
        "type": widget.type,
        "title": widget.title,
        "config": draft.stored_config,
        "place": [widget.x, widget.y, widget.w, widget.h],
    }


def _draft(row: dict[str, Any]) -> WidgetDraft:
    kind = CATALOGUE[row["type"]]
    return WidgetDraft(
        type=kind, config=kind.read_config(row["config"]), title=row["title"], place=Place(*row["place"])
    )
