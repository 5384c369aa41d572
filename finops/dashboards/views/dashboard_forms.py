"""Making, renaming, sharing and deleting a board."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.dashboards import services
from finops.dashboards.forms import DashboardForm, NewDashboardForm
from finops.dashboards.models import Dashboard
from finops.dashboards.starters import starter
from finops.dashboards.views.rows import dashboard_of
from finops.lib.errors import UserError


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = NewDashboardForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _page(request, form, None)
    cleaned = form.cleaned_data
    try:
        dashboard = services.create_dashboard(
            account=request.account,
            actor=request.actor,
            name=cleaned["name"],
            owner=request.user if cleaned["who"] == "mine" else None,
            widgets=starter(request.account, cleaned["starter"]),
        )
    except (UserError, ValidationError) as error:
        take_error(form, error)
        return _page(request, form, None)
    messages.success(request, f"The dashboard “{dashboard.name}” is made.")
    return redirect("dashboard", slug=request.account.slug, dashboard_id=dashboard.pk)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    dashboard = dashboard_of(request, dashboard_id)
    initial = {"name": dashboard.name, "who": "shared" if dashboard.is_shared else "mine"}
    form = DashboardForm(request.POST or None, initial=initial)
    if request.method != "POST" or not form.is_valid():
        return _page(request, form, dashboard)
    owner = request.user if form.cleaned_data["who"] == "mine" else None
    try:
        services.change_dashboard(
            dashboard=dashboard, actor=request.actor, name=form.cleaned_data["name"], owner=owner
        )
    except (UserError, ValidationError) as error:
        take_error(form, error)
        return _page(request, form, dashboard)
    messages.success(request, "The dashboard is changed.")
    return redirect("dashboard", slug=request.account.slug, dashboard_id=dashboard.pk)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, dashboard_id: int) -> HttpResponse:
    dashboard = dashboard_of(request, dashboard_id)
    try:
        services.delete_dashboard(dashboard=dashboard, actor=request.actor)
    except UserError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"The dashboard “{dashboard.name}” is deleted.")
    return redirect("dashboards", slug=request.account.slug)


def _page(request: AccountRequest, form: DashboardForm, dashboard: Dashboard | None) -> HttpResponse:
    context = {"form": form, "dashboard": dashboard, "cap": settings.DASHBOARDS_PER_ACCOUNT}
    status = 422 if form.is_bound else 200
    return render(request, "dashboards/dashboard_form.html", context, status=status)
