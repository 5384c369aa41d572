"""Dashboards: the shared ones and one's own."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from finops.dashboards.models import Dashboard
from finops.dashboards.queries import dashboards_of
from finops.lib.listing import Column, csv_of, listing, wants_csv


def _count(dashboard: Dashboard) -> int:
    return int(getattr(dashboard, "widget_count", 0))


COLUMNS: list[Column[Dashboard]] = [
    Column("name", "Dashboard", lambda row: row.name),
    Column("who", "Who sees it", lambda row: "everybody" if row.is_shared else "only you"),
    Column("widgets", "Widgets", _count, numeric=True),
    Column("by", "Made by", lambda row: row.created_by.email if row.created_by else ""),
    Column("changed", "Changed", lambda row: row.changed_at),
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    rows = list(dashboards_of(request.user))
    table = listing(request, rows, COLUMNS, order="name")
    if wants_csv(request):
        return csv_of("dashboards", COLUMNS, table.rows)
    context = {
        "listing": table,
        "count": len(rows),
        "shared": sum(row.is_shared for row in rows),
        "cap": settings.DASHBOARDS_PER_ACCOUNT,
    }
    return render(request, "dashboards/dashboards.html", context)
