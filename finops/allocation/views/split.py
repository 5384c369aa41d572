"""The page of a shared-cost split: every value before and after, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.allocation.models import SharedCostSplit
from finops.allocation.queries.splits import last_complete_month, split_effect
from finops.allocation.split_charts import effect_charts
from finops.allocation.splits.schemas import SplitEffectAnswer
from finops.allocation.views.splits import METHODS
from finops.costs.queries.sources import load_sources
from finops.lib import clock
from finops.lib.choices import PERIODS
from finops.lib.errors import UserError
from finops.lib.listing import csv_response, wants_csv
from finops.lib.periods import DateRange, named_period

NEWEST = ""
"""The period when none is selected: the last complete month."""


@account_page()
@require_safe
def index(request: AccountRequest, split_id: int) -> HttpResponseBase:
    """Render the whole page, for htmx only its result, or the table as CSV. An unknown period returns 400."""
    split = get_object_or_404(SharedCostSplit.objects.all(), pk=split_id)
    period = request.GET.get("period", NEWEST)
    context: dict[str, Any] = {
        "split": split,
        "period": period,
        "periods": PERIODS,
        "method": METHODS[split.method],
    }
    status = 200
    try:
        effect = split_effect(request.account, split, _days(request, period))
        if wants_csv(request):
            return csv_response(f"split-{split.name}", HEADER, _lines(effect))
        context |= {"effect": effect, "charts": effect_charts(effect)}
    except UserError as problem:
        status, context["problem"] = 400, problem.message
    only = request.htmx and not request.htmx.history_restore_request
    page = "allocation/_split_effect.html" if only else "allocation/split.html"
    return render(request, page, context, status=status)


def _days(request: AccountRequest, period: str) -> DateRange:
    if not period:
        return last_complete_month(load_sources(request.account))
    return named_period(period, today=clock.today(), fiscal_start_month=request.account.fiscal_start_month)


HEADER = ["value", "name", "before", "moved", "after", "currency"]


def _lines(effect: SplitEffectAnswer) -> Iterator[list[Any]]:
    for total in effect.totals:
        for row in total.rows:
            yield [row.value, row.label, row.before, row.moved, row.after, row.currency]
