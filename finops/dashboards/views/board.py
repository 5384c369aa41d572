"""A board: its page, each widget as a separate request, and the places of widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.change_events.models import ChangeEvent
from finops.change_events.queries import visible_events
from finops.costs.dimensions import registry
from finops.costs.queries.spend import query_days
from finops.costs.spend_query import SpendQuery
from finops.costs.views.choices import OPS, dimension_choices
from finops.costs.views.filter_row import value_labels
from finops.dashboards import services
from finops.dashboards.board_toolbar import board_toolbar
from finops.dashboards.currencies import in_one_currency
from finops.dashboards.layouts import MAX_WIDGETS
from finops.dashboards.models import Dashboard, Widget
from finops.dashboards.placement import Place
from finops.dashboards.queries import read_widget
from finops.dashboards.undo import last_change, undoable
from finops.dashboards.undo import undo as undo_last
from finops.dashboards.widget_type import BoardQuery
from finops.dashboards.widgets import CATALOGUE
from finops.lake import queries as lake_queries
from finops.lib.errors import INVALID_JSON, UserError
from finops.lib.query_page import render_query_page


class WidgetPosition(msgspec.Struct, frozen=True):
    """The new place of a widget."""

    id: int
    x: int
    y: int
    w: int
    h: int


@account_page()
@require_safe
def page(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    """Render the board without figures: each widget loads its own. Days and filters of all widgets are in the URL."""
    dashboard = dashboard_of(request, dashboard_id)
    query, status, error = BoardQuery(), 200, ""
    try:
        query = _query_from_request(request)
        days = query_days(
            request.account,
            SpendQuery(period=query.period, start_date=query.start_date, end_date=query.end_date),
        )
    except UserError as problem:
        status, error, days = 400, problem.message, query_days(request.account, SpendQuery())
    widgets = sorted(dashboard.widgets.all(), key=lambda each: (each.y, each.x))
    context: dict[str, Any] = {
        "dashboard": dashboard,
        "widgets": [(each, CATALOGUE[each.type]) for each in widgets],
        "query": query,
        "params": query.to_params(),
        "days": days,
        "error": error,
        "undo": last_change(request.session, dashboard),
        "full": len(widgets) >= MAX_WIDGETS,
        "marker_kinds": _marker_kinds(widgets),
        **_toolbar(request, query),
    }
    return render_query_page(
        request,
        page="dashboards/board.html",
        result="dashboards/_board_swap.html",
        context=context,
        choices=dict,
        status=status,
    )


@account_page()
@require_safe
def widget(request: AccountRequest, widget_id: int) -> HttpResponse:
    """Render one widget for the days and filters of the board's URL, in `currency` if it has several."""
    row = widget_of(request, widget_id)
    kind = CATALOGUE[row.type]
    context: dict[str, Any] = {"widget": row, "type": kind}
    try:
        query = _query_from_request(request)
        context |= in_one_currency(
            read_widget(request.account, row, query), request.GET.get("currency", "").upper()
        )
        context["aside"] = _unapplied_text(row, query)
    except UserError as problem:
        return render(request, "dashboards/_problem.html", {**context, "error": problem.message})
    return render(request, kind.template, context)


@account_page(Role.MEMBER)
@require_POST
def layout(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    """Save `layout`, the places of widgets as JSON. Responds with `undo`, the name of the change; with 400 for a
    layout that cannot be saved, and a message for the next page."""
    dashboard = dashboard_of(request, dashboard_id)
    try:
        positions = msgspec.json.decode(request.POST.get("layout", ""), type=list[WidgetPosition])
        places = {each.id: Place(each.x, each.y, each.w, each.h) for each in positions}
        with undoable(request.session, dashboard, "Layout changed"):
            services.move_widgets(dashboard=dashboard, actor=request.actor, places=places)
    except UserError as problem:
        messages.error(request, problem.message)
    except INVALID_JSON:
        messages.error(request, "The layout could not be read. Reload the page and try again.")
    else:
        return JsonResponse({"undo": "Undo: Layout changed"})
    return JsonResponse({}, status=400)


@account_page(Role.MEMBER)
@require_POST
def undo(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    """Undo the person's last change to the board's widgets."""
    dashboard = dashboard_of(request, dashboard_id)
    with ErrorMessages(request):
        change = undo_last(request.session, dashboard, request.actor)
        messages.success(request, f"Undone: {change}")
    return redirect("dashboard", slug=request.account.slug, dashboard_id=dashboard.pk)


def _marker_kinds(widgets: Sequence[Widget]) -> list[tuple[str, None]]:
    """Return the kinds of change events for the switches: all, as widgets load separately; none without charts."""
    has_charts = any(CATALOGUE[each.type].has_markers for each in widgets)
    if not (has_charts and visible_events().exists()):
        return []
    return [(label, None) for label in ChangeEvent.Kind.labels]


def _query_from_request(request: AccountRequest) -> BoardQuery:
    return BoardQuery.from_params(dict(request.GET.lists())).with_complete_filters()


def _unapplied_text(row: Widget, query: BoardQuery) -> str:
    """Return the parts of the board's question that do not apply to the widget."""
    kind = CATALOGUE[row.type]
    if not kind.has_data:
        return ""
    parts = []
    if query.has_days and not kind.takes_days:
        parts.append("days")
    if query.filters and not kind.takes_filters:
        parts.append("filters")
    return f"The dashboard's {' and '.join(parts)} do not apply here." if parts else ""


def _toolbar(request: AccountRequest, query: BoardQuery) -> dict[str, Any]:
    """Return the toolbar, which changes with every question."""
    keys = lake_queries.tag_keys(request.account)
    dimensions = dimension_choices(registry.kinds(), keys, query.filtered_dimensions())
    return {
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "dimensions": dimensions,
        "ops": OPS,
        "toolbar": board_toolbar(query, dimensions, value_labels(request.account, query.filters, query)),
    }


def dashboard_of(request: AccountRequest, dashboard_id: int) -> Dashboard:
    """Return a shared dashboard, or one of the person's own. Raises Http404 for any other."""
    dashboards = Dashboard.objects.filter(Q(owner=None) | Q(owner=request.user))
    dashboard = dashboards.filter(pk=dashboard_id).first()
    if dashboard is None:
        raise Http404("no such dashboard")
    return dashboard


def widget_of(request: AccountRequest, widget_id: int) -> Widget:
    """Return a widget of such a dashboard. Raises Http404 for any other."""
    widgets = Widget.objects.filter(Q(dashboard__owner=None) | Q(dashboard__owner=request.user))
    widget = widgets.filter(pk=widget_id).select_related("dashboard").first()
    if widget is None:
        raise Http404("no such widget")
    return widget
