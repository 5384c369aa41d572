"""The report of a month as a printable page, and as CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.allocation.queries.teams import team_names
from finops.costs.answers import drop_other_currencies
from finops.costs.charts import marked_tables, series_tables
from finops.costs.queries.sources import load_sources
from finops.insights.charts import waterfalls
from finops.lake.engine.conversion import display_currency
from finops.lib.drawings.chart import chart_of
from finops.lib.errors import UserError
from finops.lib.listing import csv_response, wants_csv
from finops.reports.csv_rows import HEADER, csv_name, csv_rows
from finops.reports.notes import report_notes
from finops.reports.queries import build_report, report_months, resolve_scope
from finops.reports.report import Report, ReportQuery


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Render the report. `?month=2026-10&team=Core`; else the newest complete month. `?format=csv`: every figure."""
    sources = load_sources(request.account)
    query = ReportQuery.from_params(dict(request.GET.lists()))
    context: dict[str, Any] = {
        "query": query,
        "months": report_months(sources),
        "teams": team_names(request.account),
    }
    status = 200
    try:
        if context["months"]:
            scope = resolve_scope(request.account, query, sources)
            is_csv = wants_csv(request)
            report = build_report(
                request.account,
                scope,
                sources=sources,
                has_teams=bool(context["teams"]),
                with_originals=is_csv,
            )
            if is_csv:
                return csv_response(csv_name(scope), HEADER, csv_rows(report))
            context |= page_parts(report)
    except UserError as problem:
        status, context["error"] = 400, problem.message
    return render(request, "reports/report.html", context, status=status)


def page_parts(report: Report) -> dict[str, Any]:
    """Return the template context, with the change events of the trend; amounts in currencies other than the converted one are in its notes."""
    currency = display_currency()
    trend = drop_other_currencies(report.trend, currency)
    tables, markers = marked_tables(series_tables(trend), trend, report.scope.filters)
    return {
        "report": report,
        "scope": report.scope,
        "query": report.scope.query,
        "notes": report_notes(report),
        "spend": drop_other_currencies(report.spend, currency),
        "team_spend": drop_other_currencies(report.teams.answer, currency)
        if report.teams and report.teams.answer
        else None,
        "charts": [chart_of(table, f"Spend by month in {table.currency}") for table in tables],
        "markers": markers,
        "waterfalls": waterfalls(report.change.answer) if report.change.answer else [],
    }
