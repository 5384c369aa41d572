"""Recommendations of AWS Cost Optimization Hub, uploaded."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.costs.models import CostSource
from finops.insights.saving_forms import HubForm
from finops.insights.services.hub import HubImport, import_recommendations
from finops.lib.errors import UserError


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: AccountRequest) -> HttpResponse:
    sources = CostSource.objects.select_related("account")
    if request.method != "POST":
        only = sources.first() if sources.count() == 1 else None
        return _page(request, HubForm(sources=sources, initial={"source": only}))
    form = HubForm(request.POST, request.FILES, sources=sources)
    if form.is_valid():
        try:
            done = import_recommendations(
                source=form.cleaned_data["source"], actor=request.actor, file=form.cleaned_data["file"].file
            )
        except UserError as error:
            take_error(form, error)
        else:
            _say(request, done)
            return redirect("savings", slug=request.account.slug)
    return _page(request, form)


def _say(request: AccountRequest, done: HubImport) -> None:
    noun = "recommendation" if done.kept == 1 else "recommendations"
    messages.success(
        request, f"{done.kept:,} {noun} imported, in place of {done.replaced:,}. They count beside ours."
    )
    if done.left_out:
        messages.warning(
            request,
            f"{done.left_out:,} rows are left out. {' '.join(f'{each}' for each in done.problems[:5])}",
        )


def _page(request: AccountRequest, form: HubForm) -> HttpResponse:
    context = {"form": form, "has_sources": bool(form.fields["source"].queryset)}  # type: ignore[attr-defined]
    return render(request, "insights/savings_import.html", context, status=422 if form.errors else 200)
