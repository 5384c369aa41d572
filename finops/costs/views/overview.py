"""Overview: what the account spends this month, against last month, on what, and how fresh that is."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.doors import AccountRequest, account_page
from finops.costs.answers import drop_other_currencies
from finops.costs.charts import series_tables
from finops.costs.models import CostImport
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_query import SpendQuery, month_so_far
from finops.lake.engine.conversion import display_currency
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import add_months, month_end, month_start

TRENDS = {"months": "13 months", "days": "30 days"}


@account_page()
@require_safe
def overview(request: AccountRequest) -> HttpResponse:
    account_sources = load_sources(request.account)
    sources = list(account_sources.health.values())
    running = CostImport.objects.filter(status__in=["queued", "running"]).select_related("source")
    context: dict[str, Any] = {
        "sources": sources,
        "running": list(running[:3]),
        "trends": TRENDS,
        "trend": request.GET.get("trend") if request.GET.get("trend") in TRENDS else "months",
    }
    newest = max((source.last_day for source in sources if source.last_day), default=None)
    if newest is None:
        return render(request, "costs/overview_empty.html", context)
    try:
        context |= _figures(request, account_sources, newest, context["trend"])
    except UserError as error:
        context["error"] = error.message
    return render(request, "costs/overview.html", context)


def _figures(request: AccountRequest, sources: Sources, newest: date, trend: str) -> dict[str, Any]:
    """Two lake queries: the month by service with its comparison, and the trend."""
    month = month_so_far(newest, group_by=["service"], compare_to="previous_period", top=6)
    month_answer = query_spend(request.account, month, sources=sources)
    spent = drop_other_currencies(month_answer, display_currency())
    trend_answer = query_spend(request.account, _trend_query(newest, trend), sources=sources)
    shown = drop_other_currencies(trend_answer, display_currency())
    return {
        "spent": spent,
        "month": month_start(spent.period.start_date),
        "is_this_month": month.period is not None,
        "explorer": month.to_params(),
        "tables": series_tables(shown),
        "trend_params": _trend_query(newest, trend).to_params(),
        "newest": newest,
    }


def _trend_query(newest: date, trend: str) -> SpendQuery:
    query = SpendQuery(group_by=["service_category"], top=8)
    if trend == "days":
        if newest >= month_start(clock.today()):
            return _with(query, period="last_30_days", granularity="day")
        return _with(query, start_date=month_start(newest), end_date=month_end(newest), granularity="day")
    return _with(query, start_date=add_months(newest, -12), end_date=newest, granularity="month")


def _with(query: SpendQuery, **changes: Any) -> SpendQuery:
    return structs.replace(query, **changes)
