"""Overview: this month's spend compared with last month, its trend, the largest changes, and data freshness."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.first_steps import first_steps_of
from accounts.page_access import AccountRequest, account_page
from finops.costs.answers import SpendAnswer, SpendRow, SpendTotal, drop_other_currencies
from finops.costs.charts import marked_tables
from finops.costs.models import CostImport
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_forecasts import ForecastQuestion, expected_cost, forecasts_of
from finops.costs.spend_query import MAX_TOP, SpendQuery, month_so_far
from finops.costs.views.explorer_charts import forecast_tables
from finops.lake.engine.conversion import display_currency
from finops.lib import clock
from finops.lib.cost_access import sees_whole_account
from finops.lib.errors import UserError
from finops.lib.money import exact_difference
from finops.lib.periods import add_months, month_end, month_start

TRENDS = {"months": "13 months", "days": "30 days"}
SHOWN_SERVICES: Final = 6
SHOWN_MOVERS: Final = 5


@dataclass(frozen=True)
class SpendTile:
    """The spend of one currency. `incomplete`: its part on incomplete days, which comparisons leave out."""

    total: SpendTotal
    incomplete: Decimal | None


@dataclass(frozen=True)
class Movers:
    """The services of one currency with the largest increases and decreases against the previous period."""

    currency: str
    increases: list[SpendRow]
    decreases: list[SpendRow]


@account_page()
@require_safe
def overview(request: AccountRequest) -> HttpResponse:
    account_sources = load_sources(request.account)
    sources = list(account_sources.health.values())
    running = CostImport.objects.filter(status__in=["queued", "running"]).select_related("source")
    if not sees_whole_account():
        running = running.none()
    context: dict[str, Any] = {
        "sources": sources,
        "running": list(running[:3]),
        "first_steps": first_steps_of(request.membership),
        "trends": TRENDS,
        "trend": request.GET.get("trend") if request.GET.get("trend") in TRENDS else "months",
    }
    newest = _newest_day(account_sources)
    if newest is None:
        return render(request, "costs/overview_empty.html", context)
    try:
        context |= _figures(request, account_sources, newest, context["trend"])
    except UserError as error:
        context["error"] = error.message
    return render(request, "costs/overview.html", context)


@account_page()
@require_safe
def movers(request: AccountRequest) -> HttpResponse:
    """Render the month's largest increases and decreases, which htmx loads after the overview. One lake query."""
    sources = load_sources(request.account)
    newest = _newest_day(sources) or clock.today()
    query = month_so_far(
        newest, group_by=["service"], compare_to="previous_period", order_by="change", limit=MAX_TOP
    )
    context: dict[str, Any] = {}
    try:
        answer = query_spend(request.account, query, sources=sources)
        shown = drop_other_currencies(answer, display_currency())
        context = {"answer": shown, "movers": _movers(shown), "explorer": query.to_params()}
    except UserError as error:
        context["error"] = error.message
    return render(request, "costs/_overview_movers.html", context)


def _newest_day(sources: Sources) -> date | None:
    return max((source.last_day for source in sources.health.values() if source.last_day), default=None)


def _movers(answer: SpendAnswer) -> list[Movers]:
    """Return the movers of each currency. `answer` has its rows by the size of their change."""
    result = []
    for total in answer.totals:
        rows = [
            (row, row.change.change)
            for row in answer.rows
            if row.currency == total.currency and row.change and row.change.change and not row.other_groups
        ]
        up = [row for row, change in rows if change > 0][:SHOWN_MOVERS]
        down = [row for row, change in rows if change < 0][:SHOWN_MOVERS]
        result.append(Movers(total.currency, up, down))
    return [each for each in result if each.increases or each.decreases]


def _figures(request: AccountRequest, sources: Sources, newest: date, trend: str) -> dict[str, Any]:
    """Run three lake queries: the month by service with its comparison, the trend, and this month's forecast."""
    month = month_so_far(newest, group_by=["service"], compare_to="previous_period", limit=SHOWN_SERVICES)
    month_answer = query_spend(request.account, month, sources=sources)
    spent = drop_other_currencies(month_answer, display_currency())
    return {
        "spent": spent,
        "tiles": [SpendTile(total, _incomplete_amount(total)) for total in spent.totals],
        "month": month_start(spent.period.start_date),
        "is_this_month": month.period is not None,
        "explorer": month.to_params(),
        "newest": newest,
        **_trend(request, sources, _trend_query(newest, trend)),
    }


def _incomplete_amount(total: SpendTotal) -> Decimal | None:
    """Return the amount on incomplete days; None without a comparison, or if all days are complete."""
    if total.change is None or total.change.change is None:
        return None
    return exact_difference(total.amount, total.change.current_amount) or None


def _trend(request: AccountRequest, sources: Sources, query: SpendQuery) -> dict[str, Any]:
    """Return the trend, with the forecast on top, for its tile, and the change events of its days."""
    answer = query_spend(request.account, query, sources=sources)
    forecasts = forecasts_of(ForecastQuestion(request.account, query, answer.view, sources))
    shown = drop_other_currencies(answer, display_currency())
    tables_with_forecast = forecast_tables(shown, sources.coverage, expected_cost(forecasts))
    tables, markers = marked_tables(tables_with_forecast, shown, query.filters)
    return {"tables": tables, "markers": markers, "forecasts": forecasts}


def _trend_query(newest: date, trend: str) -> SpendQuery:
    query = SpendQuery(group_by=["service_category"], limit=8)
    if trend == "days":
        if newest >= month_start(clock.today()):
            return _with(query, period="last_30_days", granularity="day")
        return _with(query, start_date=month_start(newest), end_date=month_end(newest), granularity="day")
    return _with(query, start_date=add_months(newest, -12), end_date=newest, granularity="month")


def _with(query: SpendQuery, **changes: Any) -> SpendQuery:
    return structs.replace(query, **changes)
