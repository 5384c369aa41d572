"""Backfill by CSV: the upload of a file into a source, its progress, and its rejected lines."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.lib import clock, disk
from finops.lib.listing import Column, ListPage, csv_of, csv_response, wants_csv
from ingestion import services
from ingestion.csvfile import COLUMNS, DIMENSION
from ingestion.forms import UsageUploadForm
from ingestion.models import RejectedLine, UsageBatch, UsageUpload
from ingestion.services.chunks import MAX_REJECTED_LINES
from ingestion.views.sources import source_of, source_page

LISTED = 500

LINES = ListPage[RejectedLine](
    name="lines",
    title="Rejected lines",
    noun="line",
    order="line",
    columns=[
        Column("line", "Line", lambda row: row.line, numeric=True),
        Column("reason", "Reason", lambda row: row.error, row_header=True),
        Column("event", "Event as parsed", lambda row: row.excerpt, css="cell-name"),
    ],
)


@account_page(Role.MEMBER)
@require_POST
def new(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    """Queue the uploaded file, which is already on disk; a worker stores its events."""
    source = source_of(usage_source_id)
    form = UsageUploadForm(request.POST, request.FILES)
    if problem := disk.low_disk(disk.upload_bytes(request)):
        form.add_error(None, problem)
    elif form.is_valid():
        with FormErrors(form):
            job = services.queue_upload(
                source=source, upload=form.cleaned_data["upload"], actor=request.actor
            )
            url = reverse("usage_upload", args=[request.account.slug, job.pk])
            return JsonResponse({"url": url}, status=202) if _wants_json(request) else redirect(url)
    if _wants_json(request):
        return JsonResponse({"errors": form.errors}, status=422)
    problem = " ".join(str(text) for texts in form.errors.values() for text in texts)
    return source_page(request, source, problem=problem, status=422)


@account_page()
@require_safe
def upload(request: AccountRequest, usage_upload_id: int) -> HttpResponseBase:
    """Show the progress of an upload, then its report. htmx polls every second until the upload has finished."""
    row = get_object_or_404(UsageUpload.objects.select_related("source"), pk=usage_upload_id)
    lines = RejectedLine.objects.filter(upload=row)
    if wants_csv(request):
        return csv_of(f"rejected-{row.file_name}", LINES.columns, lines.iterator(chunk_size=500))
    context = {
        "upload": row,
        "source": row.source,
        "batch": UsageBatch.objects.filter(pk=row.batch).first(),
        "listing": LINES.listing(request, lines[:LISTED]),
        "kept": MAX_REJECTED_LINES,
        "low_disk": disk.low_disk() if row.is_unfinished else "",
    }
    polled = request.htmx and request.htmx.target == "upload-state"
    return render(request, "ingestion/_upload.html" if polled else "ingestion/upload.html", context)


@account_page(Role.MEMBER)
@require_POST
def cancel(request: AccountRequest, usage_upload_id: int) -> HttpResponse:
    """Cancel an upload that is queued or running."""
    row = get_object_or_404(UsageUpload.objects.all(), pk=usage_upload_id)
    with ErrorMessages(request):
        services.cancel_upload(job=row, actor=request.actor)
    return redirect("usage_upload", slug=request.account.slug, usage_upload_id=usage_upload_id)


@account_page()
@require_safe
def template(request: AccountRequest) -> HttpResponseBase:
    """Return an example file: every column, two dimensions, two events."""
    header = [*(name for name in COLUMNS if name != "dimensions"), f"{DIMENSION}region", f"{DIMENSION}plan"]
    now = clock.now()
    rows = [_example(1, now.isoformat(timespec="seconds")), _example(2, str(now.date() - timedelta(days=1)))]
    return csv_response("usage-template", header, [[row[name] for name in header] for row in rows])


def _example(number: int, timestamp: str) -> dict[str, str]:
    return {
        "customer_id": f"customer-{number}",
        "customer_name": f"Customer {number}",
        "metric": "api_requests",
        "unit": "requests",
        "quantity": str(1250 * number),
        "timestamp": timestamp,
        "event_id": f"backfill-{number}",
        "dim:region": "eu",
        "dim:plan": "pro",
    }


def _wants_json(request: AccountRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")
