"""Settings → Usage & billing: the meter, the storage and the retention. All members see it; an admin sets the
retention.

Retention requires an admin, unlike metrics and sources, because it deletes events of the whole account permanently.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.lib import clock
from finops.lib.listing import Column, ListPage, wants_csv
from ingestion import services
from ingestion.forms import UsageRetentionForm
from ingestion.models import UsageRetention
from ingestion.queries import billing
from ingestion.queries.billing import MeteredMonth
from ingestion.services.retention import kept_months, retention_start

MONTHS = ListPage[MeteredMonth](
    name="metered-usage",
    title="Events metered by month of receipt",
    noun="month",
    order="-month",
    css="table-sm",
    columns=[
        Column("month", "Month of receipt", lambda row: f"{row.month:%Y-%m}", css="nowrap"),
        Column("events", "Events metered", lambda row: row.events, numeric=True),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    if wants_csv(request):
        return MONTHS.csv(MONTHS.listing(request, billing.metered_months(request.account)).matches)
    return _page(request, UsageRetentionForm(request.account, months=_retention_months(request)))


@account_page(Role.ADMIN)
@require_POST
def retention(request: AccountRequest) -> HttpResponse:
    """Set the retention. If it would delete events, first show their number and a second button to confirm."""
    form = UsageRetentionForm(request.account, request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    months: int | None = form.cleaned_data["months"]
    retention_months = kept_months(request.account, months)
    deleted_events, first = _count_deletions(request, retention_months)
    if deleted_events and not form.cleaned_data["confirmed"]:
        return _page(
            request, form, {"doomed": deleted_events, "first_kept": first, "months_asked": retention_months}
        )
    with FormErrors(form):
        services.set_usage_retention(account=request.account, actor=request.actor, months=months)
        messages.success(request, _retention_message(retention_months, deleted_events))
        return redirect("usage_billing", slug=request.account.slug)
    return _page(request, form, status=422)


def _retention_message(months: int | None, deleted_events: int) -> str:
    if months is None:
        return "Raw usage is kept forever."
    months_text = "1 whole month" if months == 1 else f"{months} whole months"
    some = "1 event is" if deleted_events == 1 else f"{deleted_events:,} events are"
    then = f" {some} deleted tonight." if deleted_events else ""
    return f"Raw usage is kept for {months_text} and the current one.{then}"


def _count_deletions(request: AccountRequest, months: int | None) -> tuple[int, date | None]:
    if months is None:
        return 0, None
    first = retention_start(clock.today(), months)
    return billing.events_before(request.account, first), first


def _retention_months(request: AccountRequest) -> int | None:
    row = UsageRetention.objects.first()
    return kept_months(request.account, row.months if row else None)


def _page(
    request: AccountRequest,
    form: UsageRetentionForm,
    more: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    every = billing.metered_months(request.account)
    months, retention_months = every[: billing.MONTHS], _retention_months(request)
    context = {
        "form": form,
        "months": months,
        "earlier": len(every) - len(months),
        "this_month": months[0],
        "listing": MONTHS.table(months),
        "chart": billing.meter_chart(months),
        "by_source": billing.month_by_source(request.account),
        "storage": billing.usage_storage(request.account),
        "kept": retention_months,
        "kept_from": retention_start(clock.today(), retention_months) if retention_months else None,
        **(more or {}),
    }
    return render(request, "ingestion/billing.html", context, status=status)
