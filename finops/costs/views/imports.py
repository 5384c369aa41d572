"""Upload of cost files, and the page of an import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Account, Role
from accounts.page_access import AccountRequest, account_page
from finops.costs import services
from finops.costs.focus.report import COLUMNS_REVIEW, MonthChange
from finops.costs.forms import BillUploadForm
from finops.costs.models import CostImport, CostSource
from finops.lib import disk
from finops.lib.errors import UserError
from finops.lib.money import ratio


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: AccountRequest) -> HttpResponse:
    """Show and process the upload form: the files are already on disk, and a worker imports them."""
    sources = CostSource.objects.select_related("account")
    if request.method != "POST":
        return _upload_page(
            request,
            BillUploadForm(
                account=request.account, sources=sources, initial={"source": request.GET.get("source", "")}
            ),
        )
    form = BillUploadForm(request.POST, request.FILES, account=request.account, sources=sources)
    if problem := disk.low_disk(disk.upload_bytes(request)):
        form.add_error(None, problem)
    elif form.is_valid():
        with FormErrors(form):
            return _queued_response(request, _queue(request, form))
    return _upload_page(request, form)


@transaction.atomic
def _queue(request: AccountRequest, form: BillUploadForm) -> CostImport:
    row = form.cleaned_data["source"] or services.create_cost_source(
        account=request.account, name=form.cleaned_data["name"], actor=request.actor
    )
    return services.queue_import(
        source=row,
        uploads=form.cleaned_data["uploads"],
        actor=request.actor,
        defaults=form.values_of_missing_columns,
        formats=form.formats,
    )


def _wants_json(request: AccountRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def _queued_response(request: AccountRequest, job: CostImport) -> HttpResponse:
    url = reverse("cost_import", args=[request.account.slug, job.pk])
    return JsonResponse({"url": url}, status=202) if _wants_json(request) else redirect(url)


def _upload_page(request: AccountRequest, form: BillUploadForm) -> HttpResponse:
    if form.errors and _wants_json(request):
        return JsonResponse({"errors": form.errors}, status=422)
    context = {
        "form": form,
        "max_bytes": settings.UPLOAD_MAX_BYTES,
        # Checked on GET, so that a large file is not uploaded only to be refused.
        "refusals": [why for why in (disk.low_disk(), _limit_message(request.account)) if why],
    }
    return render(request, "costs/upload.html", context, status=422 if form.errors else 200)


def _limit_message(account: Account) -> str:
    try:
        services.check_import_limit(account=account)
    except UserError as error:
        return error.message
    return ""


@account_page()
@require_safe
def cost_import(request: AccountRequest, import_id: int) -> HttpResponse:
    """Render an import's progress, then its report. htmx polls every second until it is finished."""
    row = get_object_or_404(CostImport.objects.select_related("source"), pk=import_id)
    unfinished = row.status in (CostImport.Status.QUEUED, CostImport.Status.RUNNING)
    template = "costs/_import.html" if request.htmx else "costs/import.html"
    # A new month and currency has no earlier amount to compare with.
    changes = [
        MonthMove.of(change, row.report.get("reviews", ()))
        for change in row.report.get("changes", ())
        if any(other["rows_before"] for other in row.report["changes"] if other["month"] == change["month"])
    ]
    context = {
        "import": row,
        "unfinished": unfinished,
        "low_disk": disk.low_disk() if unfinished else "",
        "report": row.report,
        "changes": changes,
        "needs_mapping": any(review["kind"] == COLUMNS_REVIEW for review in row.report.get("reviews", ())),
    }
    return render(request, template, context)


class MonthMove(MonthChange):
    """A month and currency before and after an import, as its page shows it."""

    needs_review: bool = False

    @classmethod
    def of(cls, change: dict[str, Any], reviews: Iterable[dict[str, Any]]) -> MonthMove:
        needs_review = change["month"] in {review.get("month") for review in reviews}
        return msgspec.convert({**change, "needs_review": needs_review}, cls)

    @property
    def change(self) -> Decimal:
        return self.billed_after - self.billed_before

    @property
    def ratio(self) -> Decimal | None:
        return ratio(self.change, abs(self.billed_before))


@account_page(Role.MEMBER)
@require_POST
def confirm(request: AccountRequest, import_id: int) -> HttpResponse:
    """Confirm an import that waits for review, with each month's choice."""
    choices = {
        name.removeprefix("choice-"): value
        for name, value in request.POST.items()
        if name.startswith("choice-") and isinstance(value, str)
    }
    return _change_import(request, import_id, partial(services.confirm_import, choices=choices))


@account_page(Role.MEMBER)
@require_POST
def cancel(request: AccountRequest, import_id: int) -> HttpResponse:
    """Cancel an import that waits for its turn or runs."""
    return _change_import(request, import_id, services.cancel_import)


@account_page(Role.MEMBER)
@require_POST
def discard(request: AccountRequest, import_id: int) -> HttpResponse:
    discarded = "Import discarded. The source keeps its data."
    return _change_import(request, import_id, services.discard_import, discarded)


def _change_import(
    request: AccountRequest, import_id: int, change: Callable[..., object], success: str = ""
) -> HttpResponse:
    row = get_object_or_404(CostImport.objects.select_related("account"), pk=import_id)
    with ErrorMessages(request):
        change(job=row, actor=request.actor)
        if success:
            messages.success(request, success)
    return redirect("cost_import", slug=request.account.slug, import_id=import_id)
