"""What was sent: the list, one delivery with its attempts, and sending it again."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.doors import AccountRequest, account_page
from accounts.models import Role
from finops.alerts import services
from finops.alerts.models import AlertDelivery
from finops.alerts.queries import DeliveryRow, delivery_row, every_delivery
from finops.alerts.schemas import DeliveriesQuery
from finops.alerts.views.filters import Choice
from finops.lib.errors import UserError
from finops.lib.listing import Column, csv_of, listing, wants_csv
from finops.lib.params import as_arguments, id_of

PAGE_ROWS = 50
KEPT_DAYS = 90

COLUMNS: list[Column[DeliveryRow]] = [
    Column("title", "Message", lambda row: row.title),
    Column("summary", "Summary", lambda row: row.summary, shown=False),
    Column("status", "Status", lambda row: row.status),
    Column("channel", "Channel", lambda row: row.channel_name),
    Column("channel_kind", "Channel kind", lambda row: row.channel_kind_label, shown=False),
    Column("kind", "Of", lambda row: row.kind.capitalize()),
    Column("created", "Sent", lambda row: row.created_at),
    Column("attempts", "Attempts", lambda row: len(row.attempts), numeric=True),
    Column("code", "HTTP status", lambda row: _last(row, "status_code"), shown=False),
    Column("answer", "Last answer", lambda row: _last(row, "answer"), shown=False),
    Column("delivered", "Arrived", lambda row: row.delivered_at, shown=False),
    Column("next", "Next attempt", lambda row: row.next_attempt_at, shown=False),
    Column("id", "Id", lambda row: row.id, shown=False),
]


def _last(row: DeliveryRow, name: str) -> Any:
    return getattr(row.last_attempt, name) if row.last_attempt else None


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?status=` and `?channel=` narrow the list; the newest come first."""
    every = every_delivery(request.account)
    selection = {name: request.GET.get(name, "") for name in ("status", "channel")}
    rows = [row for row in every if _is_chosen(row, selection)]
    table = listing(request, rows, COLUMNS, order="-created")
    if wants_csv(request):
        return csv_of("alert-deliveries", COLUMNS, table.rows)
    paginator = Paginator(table.rows, PAGE_ROWS)
    page = paginator.get_page(request.GET.get("page"))
    context = {
        "listing": table,
        "page": page,
        "pages": paginator.get_elided_page_range(page.number),
        "count": len(every),
        "filters": _filters(every, selection),
        "kept_days": KEPT_DAYS,
        "mcp_arguments": as_arguments(_query(selection)),
    }
    return render(request, "alerts/deliveries.html", context)


def _filters(every: list[DeliveryRow], selection: dict[str, str]) -> list[Choice]:
    statuses = [
        (value, f"{label} ({sum(row.status == value for row in every)})")
        for value, label in AlertDelivery.Status.choices
    ]
    # A channel that was renamed stands here by its newest name: deliveries come newest first.
    names = {row.channel_id: row.channel_name for row in reversed(every) if row.channel_id}
    channels = sorted(((str(pk), name) for pk, name in names.items()), key=lambda each: each[1].casefold())
    return [
        Choice("status", "Status", f"All statuses ({len(every)})", statuses, selection["status"]),
        Choice("channel", "Channel", "All channels", channels, selection["channel"]),
    ]


def _is_chosen(row: DeliveryRow, selection: dict[str, str]) -> bool:
    return selection["status"] in ("", row.status) and selection["channel"] in ("", str(row.channel_id))


def _query(selection: dict[str, str]) -> DeliveriesQuery:
    status: list[Any] = [selection["status"]] if selection["status"] in AlertDelivery.Status.values else []
    return DeliveriesQuery(status=status, channel_id=id_of(selection["channel"]))


@account_page()
@require_safe
def page(request: AccountRequest, delivery_id: int) -> HttpResponse:
    delivery = _delivery(delivery_id)
    again = AlertDelivery.objects.filter(resend_of=delivery).order_by("pk")
    context = {
        "delivery": delivery_row(delivery),
        "resends": list(again.values_list("pk", flat=True)),
        "may_resend": delivery.channel_id is not None and delivery.status != AlertDelivery.Status.WAITING,
    }
    return render(request, "alerts/delivery.html", context)


@account_page(Role.MEMBER)
@require_POST
def resend(request: AccountRequest, delivery_id: int) -> HttpResponse:
    delivery = _delivery(delivery_id)
    try:
        delivery = services.resend(delivery=delivery, actor=request.actor)
    except UserError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "It is on its way again: this is the new delivery.")
    return redirect("alert_delivery", slug=request.account.slug, delivery_id=delivery.pk)


def _delivery(pk: int) -> AlertDelivery:
    """The delivery of the account in scope; 404 for another's."""
    return get_object_or_404(AlertDelivery.objects.select_related("firing", "channel"), pk=pk)
