"""The changes of a billing month by its newest import: the question of `compareBillVersions` as a page and CSV."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from finops.costs.queries.bill_versions import (
    BillVersionsAnswer,
    BillVersionsQuery,
    compare_bill_versions,
)
from finops.lake.storage.month_versions import months_with_versions
from finops.lib.errors import UserError
from finops.lib.listing import csv_response, wants_csv
from finops.lib.params import as_arguments, from_text
from finops.lib.time_limit import limit_time

SHOWN_LINES = 50
MOST_LINES = 10_000
LINE_FIELDS = (
    *("status", "charge_date", "service", "account", "usage_type", "resource", "charge_category", "currency"),
    *("lines_before", "lines_after", "billed_before", "billed_after", "amortized_before", "amortized_after"),
)


@account_page()
@require_safe
def bill_versions(request: AccountRequest) -> HttpResponseBase:
    """Render the page. Refused to readers with limited cost access: whole versions have cost of other readers too."""
    question = from_text({"month": request.GET.get("month", "").strip()}, BillVersionsQuery)
    status, answer, problem = 200, None, ""
    try:
        with limit_time(settings.LAKE_DEADLINE_SECONDS, "This took too long. Choose a smaller month."):
            if wants_csv(request):
                return _csv(compare_bill_versions(request.account, _with_limit(question, MOST_LINES)))
            answer = compare_bill_versions(request.account, _with_limit(question, SHOWN_LINES))
    except UserError as error:
        status, problem = 422, error.message
    months = [f"{month:%Y-%m}" for month in months_with_versions(request.account)]
    context = {
        "answer": answer,
        "problem": problem,
        "month": answer.month if answer else question.month,
        "months": months,
        "mcp_arguments": as_arguments(question),
        "most": SHOWN_LINES,
    }
    return render(request, "costs/bill_versions.html", context, status=status)


def _with_limit(question: BillVersionsQuery, limit: int) -> BillVersionsQuery:
    return BillVersionsQuery(month=question.month, limit=limit)


def _csv(answer: BillVersionsAnswer) -> HttpResponseBase:
    """Yield the largest changes, exact figures."""
    rows = ([getattr(line, name) for name in LINE_FIELDS] for line in answer.lines)
    header = [name.replace("_", " ") for name in LINE_FIELDS]
    return csv_response(f"bill-versions-{answer.month}", header, rows)
