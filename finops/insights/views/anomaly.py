"""One anomaly: its days, where it comes from, and what people say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.insights import queries, services
from finops.insights.anomaly_charts import band_chart, cause_tables, explorer_query
from finops.insights.anomaly_forms import NoteForm
from finops.insights.models import Anomaly, AnomalyRun
from finops.lib.errors import UserError


def _anomaly(key: str) -> Anomaly:
    """The anomaly of the account in scope; 404 for another's."""
    return get_object_or_404(Anomaly.objects.select_related("source", "account", "primary"), key=key)


@account_page()
@require_safe
def page(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    return _page(request, _anomaly(anomaly_key), NoteForm())


@account_page(Role.MEMBER)
@require_POST
def expect(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    message = "Marked as expected. The detector learns it within a minute."
    return _mark_response(request, anomaly_key, services.mark_expected, message)


@account_page(Role.MEMBER)
@require_POST
def resolve(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    message = "Resolved. Should it go on, it opens again by itself."
    return _mark_response(request, anomaly_key, services.resolve, message)


@account_page(Role.MEMBER)
@require_POST
def reopen(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    anomaly = _anomaly(anomaly_key)
    services.reopen(account=request.account, actor=request.actor, anomaly=anomaly)
    messages.success(request, "Open again.")
    return redirect("anomaly", slug=request.account.slug, anomaly_key=anomaly.key)


def _mark_response(
    request: AccountRequest, anomaly_key: str, mark: Callable[..., Anomaly], message: str
) -> HttpResponse:
    anomaly, form = _anomaly(anomaly_key), NoteForm(request.POST)
    if form.is_valid():
        try:
            mark(
                account=request.account,
                actor=request.actor,
                anomaly=anomaly,
                note=form.cleaned_data["note"],
            )
        except UserError as error:
            take_error(form, error)
        else:
            messages.success(request, message)
            return redirect("anomaly", slug=request.account.slug, anomaly_key=anomaly.key)
    return _page(request, anomaly, form)


def _page(request: AccountRequest, anomaly: Anomaly, form: NoteForm) -> HttpResponse:
    run = AnomalyRun.objects.first()
    through = run.data_through if run and run.data_through else anomaly.last_day
    context: dict[str, Any] = {
        "anomaly": anomaly,
        "row": queries.row_of(anomaly),
        "band": band_chart(anomaly),
        "tables": cause_tables(anomaly, queries.causes_of_row(anomaly)),
        "events": queries.change_events(request.account, anomaly),
        "explorer": explorer_query(anomaly, through).to_params(),
        "form": form,
    }
    return render(request, "insights/anomaly.html", context, status=422 if form.errors else 200)
