"""Settings → Cost view and Settings → Imports: the amount and charges that count, and the changes from which an
import needs review. Admins change them, everybody can read them."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.forms import CostViewForm, ImportReviewForm
from finops.costs.models import CostView, ImportReviewSettings
from finops.costs.services import change_cost_view, change_import_review


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def cost_view(request: AccountRequest) -> HttpResponse:
    """Show and change the cost view. Raises PermissionDenied for a change by less than an admin."""
    if request.method != "POST":
        view = CostView.objects.first() or CostView(account=request.account)
        return _cost_view_page(request, CostViewForm.of(view))
    if not request.membership.may(Role.ADMIN):
        raise PermissionDenied("Only admins and owners can change the cost view.")
    form = CostViewForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            change_cost_view(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, "Cost view saved. Pages and tools use it from now on.")
            return redirect("cost_view", slug=request.account.slug)
    return _cost_view_page(request, form)


def _cost_view_page(request: AccountRequest, form: CostViewForm) -> HttpResponse:
    return render(request, "costs/cost_view.html", {"form": form}, status=422 if form.errors else 200)


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def import_review(request: AccountRequest) -> HttpResponse:
    """Show and change when an import needs review. Raises PermissionDenied for a change by less than an admin."""
    if request.method != "POST":
        row = ImportReviewSettings.objects.first() or ImportReviewSettings()
        return _import_review_page(request, ImportReviewForm.of(row))
    if not request.membership.may(Role.ADMIN):
        raise PermissionDenied("Only admins and owners can change import limits.")
    form = ImportReviewForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            change_import_review(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, "Saved. Applies to new imports.")
            return redirect("import_review", slug=request.account.slug)
    return _import_review_page(request, form)


def _import_review_page(request: AccountRequest, form: ImportReviewForm) -> HttpResponse:
    return render(request, "costs/import_review.html", {"form": form}, status=422 if form.errors else 200)
