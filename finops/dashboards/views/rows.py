"""The rows that URLs name, for the person who asks: shared boards and her own. Of others it is as if they were not there."""

from __future__ import annotations

from django.db.models import Q
from django.http import Http404

from accounts.doors import AccountRequest
from finops.dashboards.models import Dashboard, Widget


def dashboard_of(request: AccountRequest, dashboard_id: int) -> Dashboard:
    mine = Dashboard.objects.filter(Q(owner=None) | Q(owner=request.user))
    dashboard = mine.filter(pk=dashboard_id).first()
    if dashboard is None:
        raise Http404("no such dashboard")
    return dashboard


def widget_of(request: AccountRequest, widget_id: int) -> Widget:
    mine = Widget.objects.filter(Q(dashboard__owner=None) | Q(dashboard__owner=request.user))
    widget = mine.filter(pk=widget_id).select_related("dashboard").first()
    if widget is None:
        raise Http404("no such widget")
    return widget
