"""One recommendation: its evidence, and what people say of it."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.insights.saving_forms import ActedForm, DismissForm
from finops.insights.savings.answers import Recommendation, SavingsAnswer
from finops.insights.savings.candidates import Candidate
from finops.insights.savings.queries import ALL_ROWS, list_savings, recommendation
from finops.insights.savings.rules import RULES
from finops.insights.savings.savings_query import SavingsQuery
from finops.insights.services import savings as services
from finops.lib import clock
from finops.lib.errors import UserError

SHOWN = 200


@account_page()
@require_safe
def page(request: AccountRequest, saving_key: str) -> HttpResponse:
    return _page(request, saving_key, DismissForm(), _acted_form())


@account_page(Role.MEMBER)
@require_POST
def dismiss(request: AccountRequest, saving_key: str) -> HttpResponse:
    candidate, form = _candidate(request, saving_key), DismissForm(request.POST)

    def write() -> None:
        services.dismiss(
            account=request.account,
            actor=request.actor,
            candidate=candidate,
            reason=form.cleaned_data["reason"],
        )

    if _try_write(form, write):
        messages.success(request, "Dismissed. It counts in no total any more.")
        return redirect("savings", slug=request.account.slug)
    return _page(request, saving_key, form, _acted_form())


@account_page(Role.MEMBER)
@require_POST
def act(request: AccountRequest, saving_key: str) -> HttpResponse:
    candidate, form = _candidate(request, saving_key), ActedForm(request.POST)

    def write() -> None:
        services.mark_acted(
            account=request.account,
            actor=request.actor,
            candidate=candidate,
            acted_on=form.cleaned_data["acted_on"],
            reason=form.cleaned_data["note"],
        )

    if _try_write(form, write):
        messages.success(
            request, "Marked as acted on. Two weeks of bills later this page shows what it saved."
        )
        return redirect("saving", slug=request.account.slug, saving_key=saving_key)
    return _page(request, saving_key, DismissForm(), form)


@account_page(Role.MEMBER)
@require_POST
def reopen(request: AccountRequest, saving_key: str) -> HttpResponse:
    mark = recommendation(request.account, saving_key)[1]
    if mark is None:
        raise Http404
    services.reopen(account=request.account, actor=request.actor, mark=mark)
    messages.success(request, "Open again, as long as the bills show it.")
    return redirect("savings", slug=request.account.slug)


def _candidate(request: AccountRequest, key: str) -> Candidate:
    """What the bills show now; 404 for what they do not."""
    candidate = recommendation(request.account, key)[0]
    if candidate is None:
        raise Http404
    return candidate


def _acted_form() -> ActedForm:
    return ActedForm(initial={"acted_on": clock.today()})


def _try_write(form: forms.Form, write: Callable[[], None]) -> bool:
    if not form.is_valid():
        return False
    try:
        write()
    except UserError as error:
        take_error(form, error)
        return False
    return True


def _page(request: AccountRequest, key: str, dismissing: DismissForm, acting: ActedForm) -> HttpResponse:
    answer = list_savings(request.account, SavingsQuery(status="all", limit=ALL_ROWS), evidence=SHOWN)
    row = _row(answer, key)
    context = {
        "answer": answer,
        "row": row,
        "rule": RULES[row.rule],
        "instead_of": [RULES[name].label for name in row.instead_of],
        "dismissing": dismissing,
        "acting": acting,
    }
    bad = dismissing.errors or acting.errors
    return render(request, "insights/saving.html", context, status=422 if bad else 200)


def _row(answer: SavingsAnswer, key: str) -> Recommendation:
    row_found = next((row for row in answer.recommendations if row.id == key), None)
    if row_found is None:
        raise Http404
    return row_found
