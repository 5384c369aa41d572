"""Savings: the list, one recommendation with what people decide about it, recommendations of clouds by file and API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import msgspec
from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.models import CostSource
from finops.insights.cost_scope import scope_from_params
from finops.insights.savings import services
from finops.insights.savings.candidates import PRECEDENCE, RULES, SavingCandidate
from finops.insights.savings.issue_links import panels_of_saving
from finops.insights.savings.queries import ALL_ROWS, list_savings, recommendation, shares_of_cost
from finops.insights.savings.schemas import (
    STATUSES,
    BilledSaving,
    Recommendation,
    SavingsAnswer,
    SavingsQuery,
)
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListFilter, ListPage, wants_csv
from finops.lib.params import as_arguments
from finops.lib.sentences import quote

LEVELS = {"low": 0, "medium": 1, "high": 2}
SHOWN = 200
MAX_FILE = 50_000_000


def _in_billing_currency(row: Recommendation) -> Recommendation | BilledSaving:
    """Its amounts in the currency of the bill."""
    return row.billed or row


def _currency(row: Recommendation) -> str:
    return row.currency


SAVINGS = ListPage[Recommendation](
    name="savings",
    title="Savings",
    noun="recommendation",
    order="-saving",
    columns=[
        Column("title", "Recommendation", lambda row: row.title),
        Column("id", "Id", lambda row: row.id, shown=False),
        Column("rule", "Rule", lambda row: RULES[row.rule].label, shown=False),
        Column("source", "Source", lambda row: row.source, shown=False),
        Column("provider", "Provider", lambda row: row.provider, shown=False),
        Column("service", "Service", lambda row: row.service, shown=False),
        Column("account", "Account", lambda row: row.account, shown=False),
        Column(
            "saving",
            "Monthly savings",
            lambda row: row.monthly_saving,
            numeric=True,
            currency=_currency,
            help="potential-savings",
        ),
        Column("waste", "Monthly waste", lambda row: row.monthly_waste, shown=False),
        Column("cost", "Monthly cost", lambda row: row.monthly_cost, numeric=True, currency=_currency),
        Column("currency", "Currency", lambda row: row.currency, shown=False),
        Column(
            "billed",
            "Billed monthly savings",
            lambda row: _in_billing_currency(row).monthly_saving,
            shown=False,
        ),
        Column(
            "billed_cost",
            "Billed monthly cost",
            lambda row: _in_billing_currency(row).monthly_cost,
            shown=False,
        ),
        Column(
            "billing_currency",
            "Billing currency",
            lambda row: _in_billing_currency(row).currency,
            shown=False,
        ),
        Column("effort", "Effort", lambda row: row.effort, sort=lambda row: LEVELS[row.effort]),
        Column("risk", "Risk", lambda row: row.risk, sort=lambda row: LEVELS[row.risk]),
        Column("status", "Status", lambda row: row.status, css="nowrap"),
        Column("formula", "Formula", lambda row: row.formula, shown=False),
        Column("reason", "Reason for no amount", lambda row: row.saving_reason, shown=False),
        Column("note", "Note", lambda row: row.note, shown=False),
        Column(
            "issues", "Issues", lambda row: [each.url or each.tracker for each in row.issues], shown=False
        ),
        Column("acted_on", "Done", lambda row: row.acted_on, shown=False),
        Column(
            "realised",
            "Realized monthly savings",
            lambda row: row.realised and row.realised.saved,
            shown=False,
        ),
        Column(
            "waste_avoided",
            "Monthly waste avoided",
            lambda row: row.realised and row.realised.waste_avoided,
            shown=False,
        ),
    ],
)


class DismissForm(forms.Form):
    """Why it is not worth doing."""

    reason = forms.CharField(
        label="Reason",
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Dismissed recommendations are not in any total.",
    )


class ActedForm(forms.Form):
    """When something was done about it."""

    acted_on = forms.DateField(
        label="Done on",
        error_messages={"required": "Enter a day."},
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text="Savings are measured from bills after this day.",
    )
    note = forms.CharField(label="Note", max_length=2_000, required=False)


class HubForm(forms.Form):
    """An export of AWS Cost Optimization Hub, and the cost source that its accounts are billed in."""

    source = forms.ModelChoiceField(
        queryset=CostSource.objects.unscoped().none(),  # the form's account fills it
        label="Cost source",
        empty_label="Choose…",
        help_text=(
            "The bill of the same AWS accounts. The file replaces the source's earlier recommendations."
        ),
        error_messages={"required": "Choose the cost source of the same AWS accounts."},
    )
    file = forms.FileField(
        label="Export file",
        help_text="Cost optimization recommendations as CSV, CSV.gz or Parquet.",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.gz,.parquet"}),
        error_messages={"required": "Choose the export file.", "empty": "The file is empty."},
    )

    def __init__(self, *args: Any, sources: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["source"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 for the type checker
        field.queryset = sources

    def clean_file(self) -> Any:
        """Raises ValidationError above MAX_FILE bytes."""
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE:
            raise forms.ValidationError(f"The file has {file.size:,} bytes; the maximum is {MAX_FILE:,}.")
        return file


@account_page()
@require_safe
def potential(request: AccountRequest) -> HttpResponse:
    """The tile of the overview that htmx brings after it."""
    try:
        answer = list_savings(request.account, SavingsQuery(limit=1), evidence=0)
        context: dict[str, Any] = {
            "answer": answer,
            "shares": shares_of_cost(request.account, answer),
            "incomplete": sum(each.incomplete for each in answer.refreshes),
        }
    except UserError as problem:
        context = {"error": problem.message}
    return render(request, "insights/_potential_savings.html", context)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?status=`, `?rule=`, `?service=` and the parameters of a scope narrow the list; the largest saving comes first."""
    status_param = request.GET.get("status", "")
    status = status_param if status_param in STATUSES else "open"
    rule = request.GET.get("rule", "")
    service = request.GET.get("service", "")
    scope = scope_from_params(request.GET.dict())
    error = ""
    try:
        answer = list_savings(
            request.account, SavingsQuery(status="all", limit=ALL_ROWS, **scope), evidence=3
        )
    except UserError as problem:
        error, scope = problem.message, {}
        answer = list_savings(request.account, SavingsQuery(status="all", limit=ALL_ROWS), evidence=3)
    declared = replace(SAVINGS, filters=_filters(answer.recommendations))
    rows = [row for row in answer.recommendations if status in ("all", row.status)]
    shown = declared.listing(request, rows)
    if wants_csv(request):
        return declared.csv(shown.matches, _list_note(answer))
    counts = Counter(row.status for row in declared.apply_filters(request, answer.recommendations))
    question = {"status": status, "rule": rule if rule in RULES else None, **scope}
    query = msgspec.convert(question, SavingsQuery)
    context: dict[str, Any] = {
        "answer": answer,
        "listing": shown,
        "status": status,
        "statuses": [(each, counts.total() if each == "all" else counts[each]) for each in STATUSES],
        "rule": rule,
        "labels": {each.name: each.label for each in PRECEDENCE},
        "service": service,
        "mcp_arguments": as_arguments(query),
        "scope": scope,
        "error": error,
        "may_refresh": services.has_refreshable_source(request.account),
    }
    return render(request, "insights/savings.html", context, status=400 if error else 200)


def _list_note(answer: SavingsAnswer) -> str:
    """Return what the list leaves out, for its CSV; empty if it leaves nothing out."""
    incomplete = [
        f"Incomplete: {each.provider} of {quote(each.source)}. {each.problem}".strip()
        for each in answer.refreshes
        if each.incomplete
    ]
    return " ".join([*incomplete, *answer.warnings])


def _filters(rows: list[Recommendation]) -> list[ListFilter[Recommendation]]:
    services = sorted({name for row in rows for name in _services_of(row)} - {""})
    return [
        ListFilter(
            name="rule",
            label="Rule",
            every="All rules",
            choices=[(each.name, each.label) for each in PRECEDENCE],
            value=lambda row: row.rule,
        ),
        ListFilter("service", "Service", "All services", [(name, name) for name in services], _services_of),
    ]


def _services_of(row: Recommendation) -> list[str]:
    return row.services or [row.service]


@account_page()
@require_safe
def detail(request: AccountRequest, saving_key: str) -> HttpResponse:
    return _detail_page(request, saving_key, DismissForm(), _acted_form())


@account_page(Role.MEMBER)
@require_POST
def dismiss(request: AccountRequest, saving_key: str) -> HttpResponse:
    candidate, form = _candidate(request, saving_key), DismissForm(request.POST)
    write = partial(services.dismiss, account=request.account, actor=request.actor, candidate=candidate)
    if not _is_written(form, write):
        return _detail_page(request, saving_key, form, _acted_form())
    messages.success(request, "Dismissed. It is no longer in any total.")
    return redirect("savings", slug=request.account.slug)


@account_page(Role.MEMBER)
@require_POST
def act(request: AccountRequest, saving_key: str) -> HttpResponse:
    candidate, form = _candidate(request, saving_key), ActedForm(request.POST)

    def write(acted_on: date, note: str) -> None:
        services.record_saving_action(
            account=request.account, actor=request.actor, candidate=candidate, acted_on=acted_on, reason=note
        )

    if not _is_written(form, write):
        return _detail_page(request, saving_key, DismissForm(), form)
    messages.success(request, "Marked as done. Realized savings appear after two weeks of bills.")
    return redirect("saving", slug=request.account.slug, saving_key=saving_key)


@account_page(Role.MEMBER)
@require_POST
def reopen(request: AccountRequest, saving_key: str) -> HttpResponse:
    mark = recommendation(request.account, saving_key)[1]
    if mark is None:
        raise Http404
    services.reopen(account=request.account, actor=request.actor, mark=mark)
    messages.success(request, "Reopened.")
    return redirect("savings", slug=request.account.slug)


def _candidate(request: AccountRequest, key: str) -> SavingCandidate:
    """What the bills show now; 404 for what they do not."""
    candidate = recommendation(request.account, key)[0]
    if candidate is None:
        raise Http404
    return candidate


def _acted_form() -> ActedForm:
    return ActedForm(initial={"acted_on": clock.today()})


def _is_written(form: forms.Form, write: Callable[..., object]) -> bool:
    """Write what the form holds; False with its errors where it cannot be."""
    if not form.is_valid():
        return False
    with FormErrors(form):
        write(**form.cleaned_data)
        return True
    return False


def _detail_page(
    request: AccountRequest, key: str, dismissing: DismissForm, acting: ActedForm
) -> HttpResponse:
    answer = list_savings(request.account, SavingsQuery(status="all", limit=ALL_ROWS), evidence=SHOWN)
    row = next((row for row in answer.recommendations if row.id == key), None)
    if row is None:
        raise Http404
    context = {
        "answer": answer,
        "row": row,
        "rule": RULES[row.rule],
        "instead_of": [RULES[name].label for name in row.instead_of],
        "dismissing": dismissing,
        "acting": acting,
        "panels": panels_of_saving(request.account, row),
    }
    bad = dismissing.errors or acting.errors
    return render(request, "insights/saving.html", context, status=422 if bad else 200)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def import_file(request: AccountRequest) -> HttpResponse:
    sources = CostSource.objects.select_related("account")
    if request.method != "POST":
        only = sources.first() if sources.count() == 1 else None
        return _import_page(request, HubForm(sources=sources, initial={"source": only}))
    form = HubForm(request.POST, request.FILES, sources=sources)
    if form.is_valid():
        with FormErrors(form):
            file, source = form.cleaned_data["file"].file, form.cleaned_data["source"]
            done = services.import_recommendations(source=source, actor=request.actor, file=file)
            _report(request, done)
            return redirect("savings", slug=request.account.slug)
    return _import_page(request, form)


@account_page(Role.MEMBER)
@require_POST
def refresh(request: AccountRequest) -> HttpResponse:
    """Ask the clouds for their recommendations now."""
    count = services.request_refreshes(account=request.account)
    sources = "1 source" if count == 1 else f"{count} sources"
    text = f"Refreshing recommendations of {sources}. They appear here in a moment."
    messages.success(request, text if count else ("Recommendations were refreshed less than a minute ago."))
    return redirect("savings", slug=request.account.slug)


def _report(request: AccountRequest, done: services.RecommendationImport) -> None:
    noun = "recommendation" if done.kept == 1 else "recommendations"
    messages.success(request, f"{done.kept:,} {noun} imported, replacing {done.replaced:,}.")
    if done.left_out:
        problems = " ".join(done.problems[:5])
        messages.warning(request, f"{done.left_out:,} rows are left out. {problems}")


def _import_page(request: AccountRequest, form: HubForm) -> HttpResponse:
    context = {"form": form, "has_sources": bool(form.fields["source"].queryset)}  # type: ignore[attr-defined]
    return render(request, "insights/savings_import.html", context, status=422 if form.errors else 200)
