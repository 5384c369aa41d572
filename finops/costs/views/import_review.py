"""Settings → Imports: from which change of a month on an import needs review. Admins change it, everybody sees it."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.costs.forms import ImportReviewForm
from finops.costs.models import ImportReviewSettings
from finops.costs.services import change_import_review


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: AccountRequest) -> HttpResponse:
    if request.method != "POST":
        row = ImportReviewSettings.objects.first() or ImportReviewSettings()
        return _page(request, ImportReviewForm.of(row))
    if not request.membership.may(Role.ADMIN):
        raise PermissionDenied("Only an admin or owner may change when an import needs review.")
    form = ImportReviewForm(request.POST)
    if form.is_valid():
        try:
            change_import_review(account=request.account, actor=request.actor, **form.cleaned_data)
        except ValidationError as error:
            take_error(form, error)
        else:
            messages.success(request, "Saved. It holds for imports from now on.")
            return redirect("import_review", slug=request.account.slug)
    return _page(request, form)


def _page(request: AccountRequest, form: ImportReviewForm) -> HttpResponse:
    return render(request, "costs/import_review.html", {"form": form}, status=422 if form.errors else 200)
