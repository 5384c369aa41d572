"""Reads about dashboards, the same for tools and pages. The account must be in scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet

from accounts.limits import limit_of
from accounts.models import Account, AuditEntry, User
from finops.costs.answers import AccountRef
from finops.dashboards.layouts import draft_of, layout_of, version_of
from finops.dashboards.models import Dashboard, Widget
from finops.dashboards.schemas import BoardAnswer, BoardLayout, DashboardRow, DashboardsAnswer
from finops.dashboards.widget_type import BoardQuery, WidgetContext
from finops.dashboards.widgets import CATALOGUE
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.errors import UserError
from finops.lib.sentences import quote, truncate

SHOWN_NAMES = 20


def dashboards_of(user: User) -> QuerySet[Dashboard]:
    """Return shared dashboards and the person's own, by name, with their number of widgets."""
    dashboards = Dashboard.objects.filter(Q(owner=None) | Q(owner=user)).select_related("created_by")
    return dashboards.annotate(widget_count=Count("widgets"))


def last_author(dashboard: Dashboard) -> str:
    """Return who last changed a shared dashboard, from the audit log; empty if the log has no entry. One query."""
    entries = AuditEntry.objects.filter(
        at__gte=dashboard.changed_at, target=dashboard.name, action__startswith="dashboard."
    )
    newest = entries.first()
    return newest.actor_label if newest is not None else ""


def shared_dashboard(dashboard_id: int) -> Dashboard:
    """Return a shared dashboard. Raises UserError that lists the existing ones if none has this ID; personal
    dashboards are never returned."""
    dashboard = (
        Dashboard.objects.filter(pk=dashboard_id, owner=None).first() if dashboard_id < 2**63 else None
    )
    if dashboard is None:
        names = Dashboard.objects.filter(owner=None).values_list("pk", "name")[:SHOWN_NAMES]
        valid = ", ".join(f"{pk} ({quote(name, 40)})" for pk, name in names) or "none"
        raise UserError(
            f"dashboard_id: {dashboard_id} does not exist. Valid: {valid}. See listDashboards.",
            field="dashboard_id",
            value=dashboard_id,
        )
    return dashboard


def first_shared_dashboard() -> Dashboard | None:
    return Dashboard.objects.filter(owner=None).first()


def read_widget(
    account: Account, widget: Widget, board: BoardQuery, *, deadline: float | None = None
) -> Mapping[str, Any]:
    """Return the template context of a widget on a board with these days and filters. Cost and errors as the query of
    its type."""
    kind = CATALOGUE[widget.type]
    return kind.read(WidgetContext(account, kind.read_config(widget.config), board, deadline))


def list_dashboards(
    account: Account, *, search: str = "", limit: int = 50, cursor: str = ""
) -> DashboardsAnswer:
    """Return the shared dashboards by name, page by page. Two queries."""
    offset = offset_of(cursor, "dashboards", search)
    every = list(Dashboard.objects.filter(owner=None).annotate(widget_count=Count("widgets")))
    matches = [each for each in every if search.strip().casefold() in each.name.casefold()]
    page = matches[offset : offset + limit]
    next_offset = offset + len(page)
    remaining = len(matches) - next_offset
    noun = "dashboard" if len(every) == 1 else "dashboards"
    match_note = "" if len(matches) == len(every) else f"; {len(matches)} requested"
    return DashboardsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"{quote(account.name)} has {len(every)} shared {noun}{match_note}.",
        dashboards=[_row(each) for each in page],
        places_left=max(0, limit_of(account, "DASHBOARDS_PER_ACCOUNT") - len(every)),
        cursor=next_cursor(next_offset, "dashboards", search) if remaining else "",
        truncated=f"{remaining} more dashboards. Use cursor for the next page." if remaining else "",
        warnings=[],
        hint="Use getDashboard for widgets, create_dashboard to create one.",
    )


def _row(dashboard: Dashboard) -> DashboardRow:
    return DashboardRow(
        id=dashboard.pk,
        name=dashboard.name,
        widgets=getattr(dashboard, "widget_count", 0),
        changed_at=dashboard.changed_at,
    )


def board_answer(dashboard: Dashboard, *, done: str = "") -> BoardAnswer:
    """Return a shared dashboard with its whole layout; `done` describes the change. One query."""
    widgets: Sequence[Widget] = list(dashboard.widgets.all())
    account = dashboard.account
    noun = "widget" if len(widgets) == 1 else "widgets"
    text = done or f"Dashboard {truncate(dashboard.name, 60)!r} has {len(widgets)} {noun}"
    return BoardAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"{text}.",
        dashboard=BoardLayout(
            id=dashboard.pk,
            name=dashboard.name,
            version=version_of([draft_of(each) for each in widgets]),
            widgets=[layout_of(each) for each in widgets],
        ),
        warnings=[],
        hint="Use set_dashboard_widgets with the complete list to change it. Figures are on its page.",
    )


def no_board_answer(account: Account) -> BoardAnswer:
    """Return the answer for an account without shared dashboards."""
    return BoardAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"{quote(account.name)} has no shared dashboard.",
        dashboard=None,
        warnings=[],
        hint="Use create_dashboard to create one, listWidgetTypes for widget types.",
    )
