"""Writes on dashboards. The caller checks permissions; the maximum number and the validation apply to every caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.limits import limit_of
from accounts.models import Account, User
from accounts.scoping import account_scope, existing, lock_account
from finops.dashboards.layouts import (
    PlacedWidget,
    WidgetDraft,
    arrange_widgets,
    draft_of,
    settings_of,
    version_of,
)
from finops.dashboards.models import Dashboard, Widget
from finops.dashboards.placement import Place, first_free
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sentences import quote, truncate

Rows = list[tuple[int | None, WidgetDraft]]
"""Widgets with their row ids, None for a new one."""


@transaction.atomic
def create_dashboard(
    *,
    account: Account,
    actor: Actor,
    name: str,
    owner: User | None = None,
    widgets: Sequence[WidgetDraft] = (),
) -> Dashboard:
    """Create a dashboard with its widgets, shared unless it has an owner; all or nothing.

    Raises UserError for a name that is taken (naming the dashboard that has it), an account at its maximum (with
    maximum and count; personal boards do not count), and for widgets as `arrange_widgets` does; ValidationError for what the
    database would refuse.
    """
    with account_scope(account):
        lock_account(account)
        _check_name(name, owner, but=None)
        if owner is None:
            _check_cap(account)
        now = clock.now()
        dashboard = Dashboard(
            account=account,
            name=name.strip(),
            owner=owner,
            created_by=actor.user,
            created_at=now,
            changed_at=now,
        )
        dashboard.full_clean(exclude=["account"])
        placed_widgets = arrange_widgets(account, widgets)
        dashboard.save(force_insert=True)
        _write(dashboard, [None] * len(placed_widgets), placed_widgets)
        _record(dashboard, actor, "dashboard.create", _audit_snapshot(dashboard, placed_widgets))
    return dashboard


@transaction.atomic
def change_dashboard(*, dashboard: Dashboard, actor: Actor, name: str, owner: User | None) -> Dashboard:
    """Rename a dashboard, share it (no owner), or make it personal. Raises as `create_dashboard` does, and UserError
    for a deleted dashboard."""
    account = dashboard.account
    with account_scope(account):
        lock_account(account)
        row = existing(Dashboard.objects.all(), dashboard, "dashboard")
        _check_name(name, owner, but=row.pk)
        if owner is None and not row.is_shared:
            _check_cap(account)
        was_shared, before = row.is_shared, {"name": row.name, "shared": row.is_shared}
        row.name, row.owner, row.changed_at = name.strip(), owner, clock.now()
        row.full_clean(exclude=["account"])
        row.save()
        if was_shared or row.is_shared:
            detail = {"from": before if was_shared else {"shared": False}, "to": _head(row)}
            audit.record(
                account=account, actor=actor, action="dashboard.change", target=_target(row), detail=detail
            )
        else:
            _record(row, actor, "dashboard.change", {})
    return row


@transaction.atomic
def delete_dashboard(*, dashboard: Dashboard, actor: Actor) -> int:
    """Delete a dashboard with its widgets and return its id. Raises UserError when it is already deleted."""
    account = dashboard.account
    with account_scope(account):
        lock_account(account)
        row = existing(Dashboard.objects.all(), dashboard, "dashboard")
        pk, snapshot = row.pk, _audit_snapshot(row, _current_widgets(row))
        row.delete()
        _record(row, actor, "dashboard.delete", {"id": pk, **snapshot})
    return pk


@transaction.atomic
def set_dashboard_widgets(
    *, dashboard: Dashboard, actor: Actor, widgets: Sequence[WidgetDraft], version: str = ""
) -> Dashboard:
    """Replace a dashboard's widgets, all or nothing. Existing widgets keep their rows, and repeating the call changes
    nothing. Raises UserError as `arrange_widgets` does, for a deleted dashboard, and for one whose layout has another version
    (`layouts.version_of`) and would be overwritten."""

    def replace_all(rows: Rows) -> Rows:
        ids = [pk for pk, _draft in rows]
        return [(ids[index] if index < len(ids) else None, draft) for index, draft in enumerate(widgets)]

    return _rewrite(dashboard, actor, replace_all, version)


def add_widget(*, dashboard: Dashboard, actor: Actor, widget: WidgetDraft) -> Dashboard:
    """Add a widget. Raises as `set_dashboard_widgets` does."""
    return _rewrite(dashboard, actor, lambda rows: [*rows, (None, widget)])


def change_widget(*, dashboard: Dashboard, actor: Actor, widget_id: int, widget: WidgetDraft) -> Dashboard:
    """Change a widget's title and settings, at its place. Raises UserError also for a deleted widget."""

    def replace_one(rows: Rows) -> Rows:
        _check_there(rows, [widget_id])
        return [(pk, replace(widget, place=draft.place) if pk == widget_id else draft) for pk, draft in rows]

    return _rewrite(dashboard, actor, replace_one)


def remove_widget(*, dashboard: Dashboard, actor: Actor, widget_id: int) -> Dashboard:
    """Remove a widget. Raises UserError when it is already removed."""

    def drop(rows: Rows) -> Rows:
        _check_there(rows, [widget_id])
        return [(pk, draft) for pk, draft in rows if pk != widget_id]

    return _rewrite(dashboard, actor, drop)


def move_widgets(*, dashboard: Dashboard, actor: Actor, places: Mapping[int, Place]) -> Dashboard:
    """Move the widgets with these ids; the others stay. Raises as `set_dashboard_widgets` does."""

    def reposition(rows: Rows) -> Rows:
        _check_there(rows, list(places))
        return [
            (pk, replace(draft, place=places.get(pk, draft.place)) if pk is not None else draft)
            for pk, draft in rows
        ]

    return _rewrite(dashboard, actor, reposition)


def copy_widget(*, dashboard: Dashboard, actor: Actor, widget_id: int) -> Dashboard:
    """Copy a widget to the first free place. Raises UserError for a deleted one, and as `set_dashboard_widgets` does."""

    def repeat(rows: Rows) -> Rows:
        _check_there(rows, [widget_id])
        draft = next(draft for pk, draft in rows if pk == widget_id)
        place = first_free(_places(rows), draft.place.w, draft.place.h) if draft.place else None
        return [*rows, (None, replace(draft, place=place))]

    return _rewrite(dashboard, actor, repeat)


def restore_widgets(
    *, dashboard: Dashboard, actor: Actor, rows: Sequence[tuple[int | None, WidgetDraft]]
) -> Dashboard:
    """Restore a dashboard's earlier widgets: existing ones keep their id, the others are created again. Raises as
    `set_dashboard_widgets` does."""

    def restore(current: Rows) -> Rows:
        there = {pk for pk, _draft in current}
        return [(pk if pk in there else None, draft) for pk, draft in rows]

    return _rewrite(dashboard, actor, restore)


@transaction.atomic
def _rewrite(
    dashboard: Dashboard, actor: Actor, edit: Callable[[Rows], Rows], version: str = ""
) -> Dashboard:
    account = dashboard.account
    with account_scope(account):
        lock_account(account)
        row = existing(Dashboard.objects.all(), dashboard, "dashboard")
        current: Rows = [(widget.pk, draft_of(widget)) for widget in row.widgets.all()]
        after = edit(current)
        placed_widgets = arrange_widgets(
            account, [draft for _pk, draft in after], {settings_of(draft) for _pk, draft in current}
        )
        before = _current_widgets(row)
        ids = [pk for pk, _draft in after]
        if ids == [pk for pk, _draft in current] and _same(before, placed_widgets):
            return row
        if version and version != version_of([draft for _pk, draft in current]):
            raise UserError(
                f"version: dashboard {quote(row.name, 60)} has a newer layout, of {row.changed_at:%Y-%m-%d %H:%M:%S} UTC. "
                "Nothing was changed. Edit the layout that getDashboard returns now.",
                field="version",
                value=version[:60],
            )
        _write(row, ids, placed_widgets)
        row.changed_at = clock.now()
        row.save(update_fields=["changed_at"])
        _record(
            row,
            actor,
            "dashboard.set_widgets",
            {"from": _audit_snapshot(row, before), "to": _audit_snapshot(row, placed_widgets)},
        )
    return row


def _same(before: Sequence[PlacedWidget], after: Sequence[PlacedWidget]) -> bool:
    return [(each.place, each.draft.title, settings_of(each.draft)) for each in before] == [
        (each.place, each.draft.title, settings_of(each.draft)) for each in after
    ]


def _places(rows: Rows) -> list[Place]:
    return [draft.place for _pk, draft in rows if draft.place is not None]


def _check_there(rows: Rows, ids: Sequence[int]) -> None:
    there = {pk for pk, _draft in rows}
    if not there.issuperset(ids):
        raise UserError("The widget no longer exists. Reload the page.")


def _check_name(name: str, owner: User | None, *, but: int | None) -> None:
    if "\x00" in name:
        raise UserError("name: must not have a NUL character.", field="name")
    existing = Dashboard.objects.filter(owner=owner, name__iexact=name.strip()).first()
    if existing is not None and existing.pk != but:
        raise UserError(
            f"name: dashboard {existing.name!r} already exists with id {existing.pk}. Choose another "
            "name, or edit that one.",
            field="name",
            value=name[:100],
            page=f"dashboards/{existing.pk}/",
        )


def _check_cap(account: Account) -> None:
    cap, count = limit_of(account, "DASHBOARDS_PER_ACCOUNT"), Dashboard.objects.filter(owner=None).count()
    if count >= cap:
        raise UserError(f"The account has {count} shared dashboards; the maximum is {cap}. Delete one first.")


def _current_widgets(dashboard: Dashboard) -> list[PlacedWidget]:
    drafts = [draft_of(widget) for widget in dashboard.widgets.all()]
    return [PlacedWidget(draft=draft, place=draft.place) for draft in drafts if draft.place is not None]


def _write(dashboard: Dashboard, ids: Sequence[int | None], placed: Sequence[PlacedWidget]) -> None:
    """Write the rows of a board; rows with other ids are deleted. Few statements, whatever the number of widgets."""
    remaining_ids = [pk for pk in ids if pk is not None]
    Widget.objects.filter(dashboard=dashboard).exclude(pk__in=remaining_ids).delete()
    rows = [
        _widget(dashboard, pk, order, each) for order, (pk, each) in enumerate(zip(ids, placed, strict=True))
    ]
    fields = ["order", "type", "title", "config", "x", "y", "w", "h"]
    Widget.objects.bulk_update([row for row in rows if row.pk], fields)
    Widget.objects.bulk_create([row for row in rows if not row.pk])


def _widget(dashboard: Dashboard, pk: int | None, order: int, placed: PlacedWidget) -> Widget:
    draft, place = placed.draft, placed.place
    return Widget(
        pk=pk,
        account=dashboard.account,
        dashboard=dashboard,
        order=order,
        type=draft.type.name,
        title=draft.title,
        config=draft.stored_config,
        x=place.x,
        y=place.y,
        w=place.w,
        h=place.h,
    )


def _head(dashboard: Dashboard) -> dict[str, Any]:
    return {"name": dashboard.name, "shared": True} if dashboard.is_shared else {"shared": False}


def _target(dashboard: Dashboard) -> str:
    """Return the audit target; personal boards are not named, so that administrators cannot read them in the log."""
    return dashboard.name if dashboard.is_shared else "a personal dashboard"


def _audit_snapshot(dashboard: Dashboard, placed: Sequence[PlacedWidget]) -> dict[str, Any]:
    """Return the values for the audit log."""
    if not dashboard.is_shared:
        return {}
    return {**_head(dashboard), "widgets": [_line(each) for each in placed]}


def _line(placed: PlacedWidget) -> str:
    place, draft = placed.place, placed.draft
    at = f"{place.w} x {place.h} at {place.x}, {place.y}"
    return f"{draft.shown_title} ({draft.type.name}), {at}: {truncate(settings_of(draft)[1], 300)}"


def _record(dashboard: Dashboard, actor: Actor, action: str, detail: dict[str, Any]) -> None:
    logged_detail = detail if dashboard.is_shared else {}
    audit.record(
        account=dashboard.account, actor=actor, action=action, target=_target(dashboard), detail=logged_detail
    )
