"""A usage source's batches and rejected events: the newest on the source's page, all on pages of their own; voiding."""

from __future__ import annotations

import uuid
from datetime import date
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage, csv_of, wants_csv
from ingestion import services
from ingestion.models import RejectedEvent, UsageBatch, UsageSource, UsageUpload
from ingestion.queries.activity import (
    STEPS,
    Step,
    activity_chart,
    mixed_units,
    source_activity,
    source_remarks,
)
from ingestion.services.ledger import LEDGER_DAYS, REJECTED_OF_A_SOURCE

SHOWN = 10
LISTED = 100


def state_of(batch: UsageBatch) -> str:
    if batch.voided_at:
        return "voided"
    return "being voided" if batch.is_being_voided else "counts"


BATCHES = ListPage[UsageBatch](
    name="batches",
    title="Batches",
    noun="batch",
    order="-received",
    actions="Void",
    columns=[
        Column("received", "Received", lambda row: row.received_at, css="nowrap"),
        Column("state", "State", state_of, css="nowrap"),
        Column("stored", "Events", lambda row: row.stored_count, numeric=True),
        Column("rejected", "Rejected", lambda row: row.rejected, numeric=True),
        Column("duplicates", "Duplicates", lambda row: row.duplicates, numeric=True),
        Column("from", "Days from", lambda row: row.first_day, css="nowrap"),
        Column("to", "Days to", lambda row: row.last_day, css="nowrap"),
        Column("origin", "Origin", lambda row: row.get_origin_display(), css="nowrap"),
        Column("batch", "Batch ID", lambda row: str(row.pk)),
        Column("accepted", "Accepted", lambda row: row.accepted, shown=False),
        Column("voided", "Voided", lambda row: row.voided_at, shown=False),
        Column("voided_by", "Voided by", lambda row: row.voided_by_label, shown=False),
    ],
)

REJECTED = ListPage[RejectedEvent](
    name="rejected",
    title="Rejected events",
    noun="rejected event",
    order="-received",
    columns=[
        Column("received", "Received", lambda row: row.received_at, css="nowrap"),
        Column("reason", "Reason", lambda row: row.error, row_header=True),
        Column("position", "Index", lambda row: row.position, numeric=True),
        Column("event", "Event as sent", lambda row: row.excerpt, css="cell-name"),
        Column("batch", "Batch ID", lambda row: str(row.batch)),
    ],
)


def recent(request: AccountRequest, source: UsageSource) -> dict[str, Any]:
    """Return the context of the source's page on received events. Six statements and a lake query, whatever the
    volume."""
    step: Step = "day" if request.GET.get("chart") == "day" else "hour"
    activity = source_activity(source, step)
    return {
        "activity": activity,
        "step": step,
        "steps": list(STEPS),
        "chart": activity_chart(activity, step),
        "batches": BATCHES.table(list(UsageBatch.objects.filter(source=source)[:SHOWN])),
        "rejected": REJECTED.table(list(_rejected_of(source)[:SHOWN])),
        "uploads": list(UsageUpload.objects.filter(source=source)[:SHOWN]),
        "ledger_days": LEDGER_DAYS,
        "mixed_units": _mixed_units(source),
        "remarks": source_remarks(source.account_id, source).get(source.pk),
    }


def _mixed_units(source: UsageSource) -> dict[str, list[str]]:
    try:
        return mixed_units(source)
    except UserError:  # the lake cannot answer: the page Usage shows the error, this one works without
        return {}


@account_page()
@require_safe
def batches(request: AccountRequest, usage_source_id: int) -> HttpResponseBase:
    """List the newest batches, or the newest up to a day (`?until=2026-11-20`); the CSV has all batches."""
    source = get_object_or_404(UsageSource.objects.all(), pk=usage_source_id)
    rows, until = _until(UsageBatch.objects.filter(source=source), request.GET.get("until", ""))
    if wants_csv(request):
        return csv_of(f"batches-{source.name}", BATCHES.columns, rows.iterator(chunk_size=500))
    context = {
        "source": source,
        "listing": BATCHES.listing(request, rows[:LISTED]),
        "until": until,
        "listed": LISTED,
        "ledger_days": LEDGER_DAYS,
    }
    return render(request, "ingestion/batches.html", context)


def _until(rows: QuerySet[UsageBatch], text: str) -> tuple[QuerySet[UsageBatch], date | None]:
    try:
        until = date.fromisoformat(text)
    except ValueError:
        return rows, None
    return rows.filter(received_at__date__lte=until), until


@account_page()
@require_safe
def rejected_events(request: AccountRequest, usage_source_id: int) -> HttpResponseBase:
    source = get_object_or_404(UsageSource.objects.all(), pk=usage_source_id)
    rows = _rejected_of(source)[:REJECTED_OF_A_SOURCE]
    shown = REJECTED.listing(request, rows)
    if wants_csv(request):
        return csv_of(f"rejected-{source.name}", REJECTED.columns, shown.matches)
    context = {"source": source, "listing": shown, "kept": REJECTED_OF_A_SOURCE}
    return render(request, "ingestion/rejected.html", context)


@account_page(Role.MEMBER)
@require_POST
def void(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    """Void the batch that the form names. Idempotent."""
    source = get_object_or_404(UsageSource.objects.all(), pk=usage_source_id)
    batch = get_object_or_404(UsageBatch.objects.all(), source=source, pk=_batch_id(request))
    with ErrorMessages(request):
        result = services.void_usage_batch(batch=batch, actor=request.actor)
        messages.success(request, _void_message(result))
    return redirect("usage_source", slug=request.account.slug, usage_source_id=source.pk)


def _void_message(batch: UsageBatch) -> str:
    if batch.is_being_voided:
        return "Voiding the batch. Its events are counted until this has finished."
    return "Batch voided. Its events are no longer counted or metered."


def _batch_id(request: AccountRequest) -> uuid.UUID:
    try:
        return uuid.UUID(request.POST.get("batch", ""))
    except ValueError:
        raise Http404("no such batch") from None


def _rejected_of(source: UsageSource) -> QuerySet[RejectedEvent]:
    return RejectedEvent.objects.filter(source=source).order_by("-received_at", "-batch", "position")
