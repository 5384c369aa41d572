"""Add, configure and remove a widget."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import trigger_client_event

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.dimensions import registry
from finops.costs.views.choices import OPS, dimension_choices
from finops.dashboards import services
from finops.dashboards.currencies import in_one_currency
from finops.dashboards.layouts import WidgetDraft
from finops.dashboards.models import Dashboard, Widget
from finops.dashboards.setting_fields import config_from_form, fields_of
from finops.dashboards.undo import undoable
from finops.dashboards.views.board import dashboard_of, widget_of
from finops.dashboards.widget_filters import WidgetFilters, filters_of, widget_filter_row
from finops.dashboards.widget_type import CheckContext, Config, WidgetContext, WidgetType
from finops.dashboards.widgets import CATALOGUE, find_type
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError

FILTER_CHANGE: Final = "filter-change"
"""The event that reloads the preview."""


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    """Render the catalogue; with `?type=`, the settings of that type."""
    dashboard = dashboard_of(request, dashboard_id)
    kind = CATALOGUE.get(request.GET.get("type", ""))
    if kind is None:
        return render(
            request, "dashboards/catalogue.html", {"dashboard": dashboard, "types": CATALOGUE.values()}
        )
    if request.method != "POST":
        return _page(request, dashboard, kind)
    try:
        draft = _draft_from_form(request, kind)
        with undoable(request.session, dashboard, f"Added “{draft.shown_title}”"):
            services.add_widget(dashboard=dashboard, actor=request.actor, widget=draft)
    except UserError as problem:
        return _page(request, dashboard, kind, problem=problem)
    messages.success(request, f"Added “{draft.shown_title}”.")
    return redirect("dashboard", slug=request.account.slug, dashboard_id=dashboard.pk)


@account_page(Role.MEMBER)
@require_safe
def preview(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    """Render a widget of `type` with the settings of its form. Nothing is stored."""
    dashboard = dashboard_of(request, dashboard_id)
    try:
        kind = find_type(request.GET.get("type", ""))
    except UserError as error:
        raise Http404("no such widget type") from error
    context: dict[str, Any] = {"widget": Widget(dashboard=dashboard, type=kind.name), "type": kind}
    try:
        config = config_from_form(kind, dict(request.GET.lists()))
        kind.check(config, CheckContext(request.account))
        data = kind.read(WidgetContext(request.account, config))
    except UserError as problem:
        return render(request, "dashboards/_problem.html", {**context, "error": problem.message})
    content = in_one_currency(data, request.GET.get("currency", "").upper())
    return render(request, kind.template, {**context, **content})


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, widget_id: int) -> HttpResponse:
    row = widget_of(request, widget_id)
    kind = CATALOGUE[row.type]
    if request.method != "POST":
        return _page(request, row.dashboard, kind, row, config=kind.read_config(row.config))
    try:
        draft = _draft_from_form(request, kind)
        with undoable(request.session, row.dashboard, f"Changed “{draft.shown_title}”"):
            services.change_widget(
                dashboard=row.dashboard, actor=request.actor, widget_id=row.pk, widget=draft
            )
    except UserError as problem:
        return _page(request, row.dashboard, kind, row, problem=problem)
    messages.success(request, f"Saved “{draft.shown_title}”.")
    return redirect("dashboard", slug=request.account.slug, dashboard_id=row.dashboard_id)


@account_page(Role.MEMBER)
@require_POST
def remove(request: AccountRequest, widget_id: int) -> HttpResponse:
    row = widget_of(request, widget_id)
    title = row.title or CATALOGUE[row.type].title
    with ErrorMessages(request), undoable(request.session, row.dashboard, f"Removed “{title}”"):
        services.remove_widget(dashboard=row.dashboard, actor=request.actor, widget_id=row.pk)
        messages.success(request, f"Removed “{title}”. Undo brings it back.")
    return redirect("dashboard", slug=request.account.slug, dashboard_id=row.dashboard_id)


@account_page(Role.MEMBER)
@require_POST
def duplicate(request: AccountRequest, widget_id: int) -> HttpResponse:
    row = widget_of(request, widget_id)
    title = row.title or CATALOGUE[row.type].title
    with ErrorMessages(request), undoable(request.session, row.dashboard, f"Duplicated “{title}”"):
        services.copy_widget(dashboard=row.dashboard, actor=request.actor, widget_id=row.pk)
        messages.success(request, f"Duplicated “{title}”.")
    return redirect("dashboard", slug=request.account.slug, dashboard_id=row.dashboard_id)


def _draft_from_form(request: AccountRequest, kind: WidgetType[Any]) -> WidgetDraft:
    config = config_from_form(kind, dict(request.POST.lists()))
    return WidgetDraft(type=kind, config=config, title=request.POST.get("title", "").strip())


def _page(
    request: AccountRequest,
    dashboard: Dashboard,
    kind: WidgetType[Any],
    row: Widget | None = None,
    *,
    config: Config | None = None,
    problem: UserError | None = None,
) -> HttpResponse:
    """Render the settings; after an error with the submitted values, as far as they can be parsed. For htmx only the
    filters, which are in the URL."""
    if problem is not None:
        config = _readable(request, kind)
    filters, problem = _filters(request, config, problem)
    dimensions = dimension_choices(
        registry.kinds(),
        lake_queries.tag_keys(request.account),
        [*filters.filtered_dimensions(), *_group_dimensions(config)],
    )
    context: dict[str, Any] = {
        "dashboard": dashboard,
        "widget": row,
        "type": kind,
        "title": request.POST.get("title", row.title if row else ""),
        "problem": problem.message if problem else "",
        "dimensions": dimensions,
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "ops": OPS,
        "toolbar": widget_filter_row(request.account, filters, dimensions),
    }
    if request.htmx and problem is None:
        answer = render(request, "dashboards/_widget_filters.html", context)
        return trigger_client_event(answer, FILTER_CHANGE, after="swap")
    context["fields"] = fields_of(kind, config)
    return render(request, "dashboards/widget_form.html", context, status=422 if problem else 200)


def _filters(
    request: AccountRequest, config: Config | None, problem: UserError | None
) -> tuple[WidgetFilters, UserError | None]:
    """Return the filters of the settings, or of the URL if it has a draft, and their error."""
    of_settings = WidgetFilters(type=request.GET.get("type", ""), filters=filters_of(config))
    if request.method == "POST":
        return of_settings, problem
    try:
        of_url = WidgetFilters.from_params(dict(request.GET.lists())).with_complete_filters()
    except UserError as error:
        return of_settings, error
    return (of_url if of_url.draft else of_settings), problem


def _readable(request: AccountRequest, kind: WidgetType[Any]) -> Config | None:
    try:
        return config_from_form(kind, dict(request.POST.lists()))
    except UserError:
        # The page already shows the problem; the form starts empty.
        return None


def _group_dimensions(config: Config | None) -> list[str]:
    return list(getattr(config, "group_by", []))
