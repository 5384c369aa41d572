"""Settings → Cost view: which amount counts, and which charges. Admins change it, everybody sees it."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.costs.forms import CostViewForm
from finops.costs.models import CostView
from finops.costs.services import change_cost_view
from finops.lib.errors import UserError


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: AccountRequest) -> HttpResponse:
    if request.method != "POST":
        view = CostView.objects.first() or CostView(account=request.account)
        return _page(request, CostViewForm.of(view))
    if not request.membership.may(Role.ADMIN):
        raise PermissionDenied("Only an admin or owner may change the cost view: every total follows it.")
    form = CostViewForm(request.POST)
    if form.is_valid():
        try:
            change_cost_view(account=request.account, actor=request.actor, **form.cleaned_data)
        except (UserError, ValidationError) as error:
            take_error(form, error)
        else:
            messages.success(request, "The cost view is saved. Pages and tools count by it from now on.")
            return redirect("cost_view", slug=request.account.slug)
    return _page(request, form)


def _page(request: AccountRequest, form: CostViewForm) -> HttpResponse:
    return render(request, "costs/cost_view.html", {"form": form}, status=422 if form.errors else 200)
