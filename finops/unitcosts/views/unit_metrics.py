"""Saved unit metrics: cards with their figures, and saving a question of Unit economics. Members change them."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.dependants import deletion_impact_text
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage, csv_response, wants_csv
from finops.unitcosts.forms import UnitMetricForm
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries.cards import card_query, cards_of
from finops.unitcosts.queries.unit_metrics import unit_metrics_of
from finops.unitcosts.saved_question import question_of
from finops.unitcosts.services.unit_metrics import (
    change_unit_metric,
    create_unit_metric,
    delete_unit_metric,
)
from finops.unitcosts.unit_cost_query import UnitCostQuery

PAGE_CARDS = 12
"""The maximum of cards on a page: each runs two to five lake queries."""

UNIT_METRICS = ListPage[UnitMetric](
    name="unit-metrics",
    title="Saved metrics",
    noun="metric",
    order="name",
    page_rows=PAGE_CARDS,
    columns=[
        Column("name", "Name", lambda metric: metric.name),
        Column("metric", "Usage metric", lambda metric: metric.usage_metric),
        Column("mode", "Shows", lambda metric: metric.get_mode_display()),
        Column("created", "Created", lambda metric: metric.created_at),
        Column("description", "Description", lambda metric: metric.description, shown=False),
    ],
)
CSV_HEADER = [
    *("name", "description", "usage metric", "per", "mode", "splits", "from", "to"),
    *("currency", "cost", "usage", "unit cost", "share", "change", "change ratio", "reason", "note"),
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    shown = UNIT_METRICS.listing(request, unit_metrics_of(request.account))
    if wants_csv(request):
        # All rows are computed before the first is sent, because lake queries need the account in scope.
        lines = [line for card in cards_of(request.account, shown.matches) for line in _lines(card)]
        return csv_response("unit-metrics", CSV_HEADER, lines)
    cards = [(card, href_of(request, card.metric)) for card in cards_of(request.account, shown.rows)]
    context = {"listing": shown, "cards": cards}
    return render(request, "unitcosts/saved.html", context)


def href_of(request: AccountRequest, metric: UnitMetric) -> str:
    """Return the URL of the metric's question, which includes the saved metric."""
    params = {**card_query(metric).to_params(), "saved": [str(metric.pk)]}
    return f"{reverse('unit_economics', args=[request.account.slug])}?{urlencode(params, doseq=True)}"


def _lines(card: Any) -> list[list[Any]]:
    """Yield a line for each currency, exact figures of the last 30 days."""
    metric, period = card.metric, card.answer.period if card.answer else None
    about = [metric.name, metric.description, metric.usage_metric, metric.per, metric.mode, metric.splits]
    days = [period.start_date, period.end_date] if period else ["", ""]
    lines = [
        [
            *about,
            *days,
            *(total.currency, total.cost, total.usage, total.unit_cost, total.share),
            *((total.change.change, total.change.ratio) if total.change else ("", "")),
            total.reason,
        ]
        for total in card.totals
    ] or [[*about, *days, *[""] * 7, card.problem]]
    notes = [card.answer.summary if card.answer else "", *[""] * len(lines)]
    return [[*line, note] for line, note in zip(lines, notes, strict=False)]


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Save the question of the URL."""
    form = UnitMetricForm(request.POST if request.method == "POST" else None)
    question, problem = _question(request)
    if request.method == "POST" and question and form.is_valid():
        with FormErrors(form):
            metric = create_unit_metric(
                account=request.account, actor=request.actor, question=question, **form.cleaned_data
            )
            messages.success(request, f"{metric.name} is saved.")
            return redirect("unit_metrics", slug=request.account.slug)
    return _form_page(request, form, question, problem)


def _question(request: AccountRequest) -> tuple[UnitCostQuery | None, str]:
    """Return the question of the URL, or None and its error."""
    try:
        return UnitCostQuery.from_params(dict(request.GET.lists())), ""
    except UserError as problem:
        return None, problem.message


def _form_page(
    request: AccountRequest,
    form: UnitMetricForm,
    question: UnitCostQuery | None,
    problem: str,
    metric: UnitMetric | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "question": question,
        "problem": problem,
        "metric": metric,
        "going_with_it": partial(deletion_impact_text, metric) if metric else "",
    }
    status = 400 if problem else 422 if form.errors else 200
    return render(request, "unitcosts/unit_metric_form.html", context, status=status)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, unit_metric_id: int) -> HttpResponse:
    """Change name and description; and the question, if the URL has one."""
    metric = get_object_or_404(UnitMetric.objects.select_related("account"), pk=unit_metric_id)
    initial_values = {"name": metric.name, "description": metric.description}
    form = (
        UnitMetricForm(request.POST) if request.method == "POST" else UnitMetricForm(initial=initial_values)
    )
    question, problem = _question(request)
    if question is not None and not question.usage_metric:
        question = question_of(metric)
    if request.method == "POST" and question and form.is_valid():
        with FormErrors(form):
            change_unit_metric(metric=metric, actor=request.actor, question=question, **form.cleaned_data)
            messages.success(request, f"{form.cleaned_data['name']} is saved.")
            return redirect("unit_metrics", slug=request.account.slug)
    return _form_page(request, form, question, problem, metric)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, unit_metric_id: int) -> HttpResponse:
    metric = get_object_or_404(UnitMetric.objects.select_related("account"), pk=unit_metric_id)
    delete_unit_metric(metric=metric, actor=request.actor)
    messages.success(request, f"{metric.name} deleted. Cost and usage are unchanged.")
    return redirect("unit_metrics", slug=request.account.slug)
