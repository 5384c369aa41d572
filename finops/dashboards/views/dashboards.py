"""The list of shared and personal dashboards, and the actions to add, rename, share and delete one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.limits import limit_of
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.dashboards import services
from finops.dashboards.forms import DashboardForm, NewDashboardForm
from finops.dashboards.models import Dashboard
from finops.dashboards.queries import dashboards_of
from finops.dashboards.starters import starter
from finops.dashboards.views.board import dashboard_of
from finops.lib.listing import Column, ListPage


def _count(dashboard: Dashboard) -> int:
    return int(getattr(dashboard, "widget_count", 0))


DASHBOARDS = ListPage[Dashboard](
    name="dashboards",
    title="Dashboards",
    noun="dashboard",
    order="name",
    columns=[
        Column("name", "Dashboard", lambda row: row.name),
        Column("who", "Visibility", lambda row: "everybody" if row.is_shared else "only you", css="nowrap"),
        Column("widgets", "Widgets", _count, numeric=True),
        Column(
            "by", "Created by", lambda row: row.created_by.email if row.created_by else "", css="cell-name"
        ),
        Column("changed", "Updated", lambda row: row.changed_at, format="ago", css="nowrap"),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    rows = list(dashboards_of(request.user))
    context = {
        "shared": sum(row.is_shared for row in rows),
        "cap": limit_of(request.account, "DASHBOARDS_PER_ACCOUNT"),
    }
    return DASHBOARDS.response(request, rows, "dashboards/dashboards.html", context)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = NewDashboardForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _page(request, form, None)
    cleaned = form.cleaned_data
    with FormErrors(form):
        dashboard = services.create_dashboard(
            account=request.account,
            actor=request.actor,
            name=cleaned["name"],
            owner=request.user if cleaned["who"] == "mine" else None,
            widgets=starter(request.account, cleaned["starter"]),
        )
        messages.success(request, f"Dashboard “{dashboard.name}” created.")
        return redirect("dashboard", slug=request.account.slug, dashboard_id=dashboard.pk)
    return _page(request, form, None)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    dashboard = dashboard_of(request, dashboard_id)
    initial = {"name": dashboard.name, "who": "shared" if dashboard.is_shared else "mine"}
    form = DashboardForm(request.POST or None, initial=initial)
    if request.method != "POST" or not form.is_valid():
        return _page(request, form, dashboard)
    owner = request.user if form.cleaned_data["who"] == "mine" else None
    with FormErrors(form):
        services.change_dashboard(
            dashboard=dashboard, actor=request.actor, name=form.cleaned_data["name"], owner=owner
        )
        messages.success(request, "Dashboard updated.")
        return redirect("dashboard", slug=request.account.slug, dashboard_id=dashboard.pk)
    return _page(request, form, dashboard)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    dashboard = dashboard_of(request, dashboard_id)
    with ErrorMessages(request):
        services.delete_dashboard(dashboard=dashboard, actor=request.actor)
        messages.success(request, f"Dashboard “{dashboard.name}” deleted.")
    return redirect("dashboards", slug=request.account.slug)


def _page(request: AccountRequest, form: DashboardForm, dashboard: Dashboard | None) -> HttpResponse:
    context = {
        "form": form,
        "dashboard": dashboard,
        "cap": limit_of(request.account, "DASHBOARDS_PER_ACCOUNT"),
    }
    status = 422 if form.is_bound else 200
    return render(request, "dashboards/dashboard_form.html", context, status=status)
