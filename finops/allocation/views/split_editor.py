"""Create and change a shared-cost split, with a live preview of what it would move."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.forms import SplitForm, draft_of, rows_of, rows_of_split, with_blanks
from finops.allocation.models import SharedCostSplit
from finops.allocation.queries.splits import last_complete_month, split_effect
from finops.allocation.services.splits import create_split, save_split, validate_split
from finops.allocation.split_charts import effect_charts
from finops.allocation.splits.rules import EVEN
from finops.costs.queries.sources import load_sources
from finops.lib.errors import UserError
from finops.lib.params import id_of

MORE_ROWS = 4


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    return _editor(request, None)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, split_id: int) -> HttpResponse:
    return _editor(request, get_object_or_404(SharedCostSplit.objects.all(), pk=split_id))


def _editor(request: AccountRequest, split: SharedCostSplit | None) -> HttpResponse:
    """Render the form; for htmx only the part that depends on the method, with the values filled in so far."""
    if request.method == "POST":
        return _save(request, split)
    if request.htmx and "method" in request.GET:
        form = SplitForm.of(request.account, None, request.GET)
        more = MORE_ROWS if "more" in request.GET else 0
        context = _context(request, split, form, with_blanks(rows_of(request.GET), more))
        return render(request, "allocation/_split_targets.html", context)
    rows = with_blanks(rows_of_split(split)) if split else with_blanks([])
    return _page(request, split, SplitForm.of(request.account, split), rows)


def _save(request: AccountRequest, split: SharedCostSplit | None) -> HttpResponse:
    form = SplitForm.of(request.account, None, request.POST)
    if form.is_valid():
        draft = form.draft(request.POST)
        with FormErrors(form):
            if split is None:
                saved = create_split(account=request.account, actor=request.actor, draft=draft)
            else:
                saved = save_split(split=split, actor=request.actor, draft=draft)
            messages.success(request, f"Split {saved.name} saved.")
            return redirect("split", slug=request.account.slug, split_id=saved.pk)
    return _page(request, split, form, with_blanks(rows_of(request.POST)))


def _page(
    request: AccountRequest, split: SharedCostSplit | None, form: SplitForm, rows: list[tuple[str, str]]
) -> HttpResponse:
    context = _context(request, split, form, rows)
    return render(request, "allocation/split_edit.html", context, status=422 if form.errors else 200)


def _context(
    request: AccountRequest, split: SharedCostSplit | None, form: SplitForm, rows: list[tuple[str, str]]
) -> dict[str, Any]:
    return {
        "split": split,
        "form": form,
        "rows": rows,
        "method": form["method"].value() or EVEN,
        "every": bool(form["every_customer"].value()),
        "values_url": reverse("dimension_values", args=[request.account.slug]),
    }


@account_page(Role.MEMBER)
@require_safe
def preview(request: AccountRequest) -> HttpResponse:
    """Render what the split of the form, as filled in so far, would have moved in the last complete month."""
    form = SplitForm.of(request.account, None, request.GET)
    form.is_valid()
    context: dict[str, Any] = {}
    try:
        row = _row_from_params(request)
        split = validate_split(request.account, draft_of(request.GET, form.cleaned_data), row)
        days = last_complete_month(load_sources(request.account))
        effect = split_effect(request.account, split, days)
        context = {"effect": effect, "charts": effect_charts(effect), "split": split}
    except UserError as problem:
        context = {"problem": problem.message}
    return render(request, "allocation/_split_preview.html", context)


def _row_from_params(request: AccountRequest) -> SharedCostSplit:
    """Return the stored split that is being changed, else a new one. Neither is saved here."""
    stored = id_of(request.GET.get("split", ""))
    current = SharedCostSplit.objects.filter(pk=stored).first() if stored else None
    return current or SharedCostSplit(account=request.account)
