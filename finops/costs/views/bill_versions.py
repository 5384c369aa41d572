"""The changes of a billing month by its newest import: the question of `compareBillVersions` as a page and CSV."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.costs.bill_versions_csv import MOST_LINES, bill_versions_csv
from finops.costs.queries.bill_versions import (
    BillVersionsQuery,
    compare_bill_versions,
)
from finops.lake.storage.month_versions import months_with_versions
from finops.lib.errors import UserError
from finops.lib.listing import wants_csv
from finops.lib.params import as_arguments, from_text
from finops.lib.time_limit import limit_time

SHOWN_LINES = 50


@account_page()
@require_safe
def bill_versions(request: AccountRequest) -> HttpResponseBase:
    """Render the page. Refused to readers with limited cost access: whole versions have cost of other readers too."""
    question = from_text({"month": request.GET.get("month", "").strip()}, BillVersionsQuery)
    status, answer, problem = 200, None, ""
    try:
        with limit_time(settings.LAKE_DEADLINE_SECONDS, "This took too long. Choose a smaller month."):
            if wants_csv(request):
                answer = compare_bill_versions(request.account, _with_limit(question, MOST_LINES))
                return bill_versions_csv(answer).response()
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
