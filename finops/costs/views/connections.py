"""Connections: the cost sources with their health, uploading into them, and how an import went."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.doors import AccountRequest, account_page
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Account, Role
from finops.costs import services
from finops.costs.answers import SourceHealth
from finops.costs.completeness import settle_words
from finops.costs.dependants import deletion_impact_text
from finops.costs.focus.report import MonthChange
from finops.costs.forms import BillUploadForm, OverlapForm, SettleDaysForm, SourceForm
from finops.costs.models import CostImport, CostSource
from finops.costs.queries.import_notices import import_notices
from finops.costs.queries.sources import load_sources
from finops.lib import disk
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage, csv_of, wants_csv
from finops.lib.money import ratio

IMPORTS_SHOWN = 10
IMPORTS_PAGE = 25


@dataclasses.dataclass(frozen=True)
class CostSourceRow:
    """A cost source as the list shows it."""

    id: int
    health: SourceHealth

    @property
    def last_day(self) -> date | None:
        return self.health.last_day

    @property
    def last_import_at(self) -> datetime | None:
        return self.health.last_import_at


CONNECTIONS = ListPage[CostSourceRow](
    name="connections",
    title="Cost sources",
    noun="source",
    order="name",
    columns=[
        Column("name", "Source", lambda row: row.health.name),
        Column("status", "Health", lambda row: row.health.status),
        Column("from", "Data from", lambda row: row.health.first_day, css="nowrap"),
        Column("through", "Data through", lambda row: row.health.last_day, css="nowrap"),
        Column("rows", "Rows", lambda row: row.health.rows, numeric=True),
        Column("imported", "Last import", lambda row: row.health.last_import_at, format="ago"),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    health_by_source = load_sources(request.account).health
    shown = CONNECTIONS.listing(request, [CostSourceRow(pk, each) for pk, each in health_by_source.items()])
    if wants_csv(request):
        return CONNECTIONS.csv(shown.matches)
    imports = CostImport.objects.select_related("source").defer("report")[:IMPORTS_SHOWN]
    context = {"listing": shown, "imports": imports, "notices": import_notices(request.account)}
    return render(request, "costs/connections.html", context)


IMPORT_COLUMNS: list[Column[CostImport]] = [
    Column("file", "File", lambda row: row.file_name),
    Column("state", "State", lambda row: row.status),
    Column("rows", "Rows", lambda row: row.rows),
    Column("months", "Months", lambda row: row.months),
    Column("created", "Uploaded", lambda row: row.created_at),
    Column("finished", "Finished", lambda row: row.finished_at),
    Column("by", "By", lambda row: row.actor_label),
    Column("error", "Error", lambda row: row.error),
]


@account_page()
@require_safe
def source(request: AccountRequest, source_id: int) -> HttpResponseBase:
    if wants_csv(request):
        row = get_object_or_404(CostSource.objects.all(), pk=source_id)
        rows = CostImport.objects.filter(source=row).defer("report")
        return csv_of(f"imports-{row.name}", IMPORT_COLUMNS, rows.iterator(chunk_size=500))
    return _source_page(request, source_id)


def _source_page(
    request: AccountRequest,
    source_id: int,
    form: SourceForm | None = None,
    settle_form: SettleDaysForm | None = None,
) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("created_by"), pk=source_id)
    imports = CostImport.objects.filter(source=row).select_related("source").defer("report")
    sources = load_sources(request.account)
    days = sources.coverage.days_of.get(row.pk)
    page = Paginator(imports, IMPORTS_PAGE).get_page(request.GET.get("page"))
    context = {
        "source": row,
        "health": sources.health[row.pk],
        "days": days,
        "complete_through": sources.coverage.last_complete_days.get(row.pk),
        "settle_words": settle_words(days) if days else "",
        "settle_form": settle_form or SettleDaysForm(initial={"settle_days": row.settle_days}),
        "form": form or SourceForm(initial={"name": row.name}),
        "going_with_it": partial(deletion_impact_text, row),
        "page": page,
        "pages": page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1),
    }
    return render(request, "costs/source.html", context, status=422 if form or settle_form else 200)


@account_page(Role.MEMBER)
@require_POST
def dismiss_overlap(request: AccountRequest) -> HttpResponse:
    form = OverlapForm(request.POST)
    with ErrorMessages(request):
        if not form.is_valid():
            raise UserError("Say which overlap to dismiss.")
        services.dismiss_overlap(account=request.account, actor=request.actor, **form.cleaned_data)
        messages.success(request, "The overlap is dismissed. Another month that is alike will be shown.")
    return redirect("connections", slug=request.account.slug)


@account_page(Role.MEMBER)
@require_POST
def settle_days(request: AccountRequest, source_id: int) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    form = SettleDaysForm(request.POST)
    if form.is_valid():
        days = form.cleaned_data["settle_days"]
        services.change_settle_days(source=row, settle_days=days, actor=request.actor)
        messages.success(request, "The settle time is saved. It counts in every answer from now on.")
        return redirect("connection", slug=request.account.slug, source_id=source_id)
    return _source_page(request, source_id, settle_form=form)


@account_page(Role.MEMBER)
@require_POST
def rename(request: AccountRequest, source_id: int) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    form = SourceForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.rename_cost_source(source=row, name=form.cleaned_data["name"], actor=request.actor)
            messages.success(request, "The source is renamed.")
            return redirect("connection", slug=request.account.slug, source_id=source_id)
    return _source_page(request, source_id, form)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, source_id: int) -> HttpResponse:
    row = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    with ErrorMessages(request):
        services.delete_cost_source(source=row, actor=request.actor)
        messages.success(request, f"The source {row.name} is gone, with all its cost lines.")
        return redirect("connections", slug=request.account.slug)
    return redirect("connection", slug=request.account.slug, source_id=source_id)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: AccountRequest) -> HttpResponse:
    """The form, and what it sends: the files are on disk by now, and a worker imports them."""
    sources = CostSource.objects.select_related("account")
    if request.method != "POST":
        return _upload_page(
            request, BillUploadForm(sources=sources, initial={"source": request.GET.get("source", "")})
        )
    form = BillUploadForm(request.POST, request.FILES, sources=sources)
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
        # Said before somebody sends a large file for nothing.
        "refusals": [why for why in (disk.low_disk(), _no_room(request.account)) if why],
    }
    return render(request, "costs/upload.html", context, status=422 if form.errors else 200)


def _no_room(account: Account) -> str:
    try:
        services.check_import_room(account=account)
    except UserError as error:
        return error.message
    return ""


@account_page()
@require_safe
def cost_import(request: AccountRequest, import_id: int) -> HttpResponse:
    """How an import goes, and afterwards its report. htmx asks again every second until it is finished."""
    row = get_object_or_404(CostImport.objects.select_related("source"), pk=import_id)
    unfinished = row.status in (CostImport.Status.QUEUED, CostImport.Status.RUNNING)
    template = "costs/_import.html" if request.htmx else "costs/import.html"
    # A month and currency that was not there before has nothing to be held against.
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
    }
    return render(request, template, context)


class MonthMove(MonthChange):
    """A month and currency before and with an import, as its page shows it."""

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
    """Do an import that waits for review, each month as chosen."""
    choices = {
        name.removeprefix("choice-"): value
        for name, value in request.POST.items()
        if name.startswith("choice-") and isinstance(value, str)
    }
    return _change_import(request, import_id, partial(services.confirm_import, choices=choices))


@account_page(Role.MEMBER)
@require_POST
def cancel(request: AccountRequest, import_id: int) -> HttpResponse:
    """Do no more of an import that waits for its turn or runs."""
    return _change_import(request, import_id, services.cancel_import)


@account_page(Role.MEMBER)
@require_POST
def discard(request: AccountRequest, import_id: int) -> HttpResponse:
    discarded = "The import is discarded. What the source has stays as it is."
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
