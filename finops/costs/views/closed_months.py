"""Invoices → Closed months: their sums when closed and restatements since; admins close and reopen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.models import ClosedMonth
from finops.costs.queries.invoices import every_invoice, parse_month
from finops.costs.queries.sources import load_sources
from finops.costs.services.closed_months import close_month, reopen_month
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange, month_end
from finops.lib.sentences import join_with_and


@dataclass(frozen=True)
class ClosedMonthRow:
    """A closed month in one currency, over all its sources."""

    month: ClosedMonth
    currency: str
    billed: Decimal
    effective: Decimal
    billed_restated: Decimal
    effective_restated: Decimal


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponse:
    """Render the page. `?month=2026-05` shows what closing that month would freeze."""
    name, context = request.GET.get("month", ""), {}
    with ErrorMessages(request):
        context = _to_close(request, parse_month(name)) if name else {}
    sources = load_sources(request.account)
    months = {segment.month for segment in sources.manifest.segments} - set(sources.closed)
    over = [month for month in months if month_end(month) < sources.coverage.today]
    context |= {
        "frozen": _rows(),
        "months": [f"{month:%Y-%m}" for month in sorted(over, reverse=True)],
        "month": name,
    }
    return render(request, "costs/closing.html", context)


@account_page(Role.ADMIN)
@require_POST
def close(request: AccountRequest) -> HttpResponse:
    with ErrorMessages(request):
        row = close_month(
            account=request.account,
            actor=request.actor,
            month=parse_month(request.POST.get("month", "")),
            note=request.POST.get("note", ""),
        )
        messages.success(request, f"{row} closed.")
    return redirect("closed_months", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_POST
def reopen(request: AccountRequest, closed_month_id: int) -> HttpResponse:
    row = get_object_or_404(ClosedMonth.objects.select_related("account"), pk=closed_month_id)
    reopen_month(closed=row, actor=request.actor)
    messages.success(request, f"{row} reopened. The audit log keeps its figures.")
    return redirect("closed_months", slug=request.account.slug)


def _rows() -> list[ClosedMonthRow]:
    closed_rows = []
    for month in ClosedMonth.objects.prefetch_related("sums"):
        rows = list(month.sums.all())
        for currency in dict.fromkeys(row.currency for row in rows):
            some = [row for row in rows if row.currency == currency]
            billed, effective = (
                exact_sum(row.billed_cost for row in some),
                exact_sum(row.effective_cost for row in some),
            )
            closed_rows.append(
                ClosedMonthRow(
                    month,
                    currency,
                    billed,
                    effective,
                    exact_difference(exact_sum(row.billed_now for row in some), billed),
                    exact_difference(exact_sum(row.effective_now for row in some), effective),
                )
            )
    return closed_rows


def _to_close(request: AccountRequest, month: date) -> dict[str, Any]:
    """Return the month's reconciliation, and the sources with incomplete days in it."""
    answer, _months = every_invoice(request.account, f"{month:%Y-%m}")
    sources = load_sources(request.account)
    late = sources.coverage.incomplete_from(DateRange(month, month_end(month)))
    names = sorted(sources.health[source].name for source in late if source in sources.health)
    return {"answer": answer, "late": join_with_and(names)}
