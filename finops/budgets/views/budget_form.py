"""Create, change and delete a budget. The form reloads with a GET when its choices depend on a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.budgets import services
from finops.budgets.forms import BudgetForm, initial_of
from finops.budgets.models import Budget
from finops.budgets.queries import BudgetSuggestion, suggestion
from finops.budgets.views.budget import budget_of
from finops.costs.queries import list_dimension_values
from finops.lib.errors import UserError

NEW: Mapping[str, Any] = {"scope": "account", "period": "monthly", "warning_percent": 80}
MAX_VALUES = 50
SUGGESTED = ("amount", "currency")


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Show a form, empty or filled in from the URL; a POST creates the budget."""
    if request.method != "POST":
        return _page(request, BudgetForm(request.account, initial={**NEW, **_form_data(request)}))
    form = BudgetForm(request.account, request.POST)
    if form.is_valid():
        with FormErrors(form):
            budget = services.create_budget(account=request.account, actor=request.actor, draft=form.draft())
            messages.success(request, f"Budget “{budget.name}” created.")
            return redirect("budget", slug=request.account.slug, budget_id=budget.pk)
    return _page(request, form, status=422)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, budget_id: int) -> HttpResponse:
    budget = budget_of(budget_id)
    if request.method != "POST":
        initial = {**initial_of(budget), **_form_data(request)}
        return _page(request, BudgetForm(request.account, budget=budget, initial=initial))
    form = BudgetForm(request.account, request.POST, budget=budget)
    if form.is_valid():
        with FormErrors(form):
            services.change_budget(budget=budget, actor=request.actor, draft=form.draft())
            messages.success(request, "Budget updated.")
            return redirect("budget", slug=request.account.slug, budget_id=budget.pk)
    return _page(request, form, status=422)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, budget_id: int) -> HttpResponse:
    budget = budget_of(budget_id)
    with ErrorMessages(request):
        services.delete_budget(budget=budget, actor=request.actor)
        messages.success(request, f"Budget “{budget.name}” deleted.")
    return redirect("budgets", slug=request.account.slug)


def _form_data(request: AccountRequest) -> dict[str, str]:
    """Return the URL's form data without the form's own suggestions: these follow scope, period and currency."""
    data = request.GET.dict()
    for name, value in zip(SUGGESTED, data.get("suggested", "").split(), strict=False):
        if data.get(name) == value:
            del data[name]
    return data


def _page(request: AccountRequest, form: BudgetForm, *, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "budget": form.budget}
    try:
        proposal = suggestion(
            request.account, form.unsaved_row(), currency=form.current_value("currency").upper()
        )
    except UserError as problem:
        context["suggestion_error"] = problem.message
    else:
        context["suggestion"] = proposal
        context["suggested"] = _prefill(form, proposal)
    context["values"] = _values(request, form)
    return render(request, "budgets/budget_form.html", context, status=status)


def _prefill(form: BudgetForm, proposal: BudgetSuggestion) -> str:
    """Fill in the amount and currency of a new budget where they are empty, and return the filled-in values."""
    if form.is_bound or form.budget is not None:
        return ""
    filled = []
    for name, value in zip(SUGGESTED, (proposal.amount, proposal.currency), strict=True):
        untouched = bool(value) and not form.current_value(name)
        if untouched:
            form.initial[name] = value
        filled.append(str(value) if untouched else "-")
    return " ".join(filled)


def _values(request: AccountRequest, form: BudgetForm) -> list[str]:
    """Return values of the chosen cost tag to offer, the costliest first."""
    budget: Budget = form.unsaved_row()
    if budget.cost_tag is None:
        return []
    try:
        values = list_dimension_values(request.account, f"cost_tag:{budget.cost_tag.key}", limit=MAX_VALUES)
    except UserError:
        # Only suggestions; the form says what is wrong with a value.
        return []
    return [each.value for each in values.values]
