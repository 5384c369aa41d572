"""The list of deliveries, one delivery with its attempts, and the action to resend it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.limits import limit_of
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.alerts import services
from finops.alerts.models import AlertDelivery
from finops.alerts.queries import DeliveryRow, delivery_row, every_delivery
from finops.alerts.schemas import DeliveriesQuery
from finops.lib.listing import Column, ListFilter, ListPage
from finops.lib.params import as_arguments, id_of

PAGE_ROWS = 50

DELIVERIES = ListPage[DeliveryRow](
    name="alert-deliveries",
    title="Alert deliveries",
    noun="delivery",
    order="-created",
    page_rows=PAGE_ROWS,
    columns=[
        Column("title", "Message", lambda row: row.title),
        Column("summary", "Summary", lambda row: row.summary, shown=False),
        Column("status", "Status", lambda row: row.status),
        Column("channel", "Channel", lambda row: row.channel_name, css="cell-name"),
        Column("channel_kind", "Channel kind", lambda row: row.channel_kind_label, shown=False),
        Column("kind", "Trigger", lambda row: row.kind.replace("_", " ").capitalize(), css="nowrap"),
        Column("created", "Sent", lambda row: row.created_at, css="nowrap"),
        Column("attempts", "Attempts", lambda row: len(row.attempts), numeric=True),
        Column(
            "code", "HTTP status", lambda row: row.last_attempt and row.last_attempt.status_code, shown=False
        ),
        Column(
            "answer", "Last answer", lambda row: row.last_attempt and row.last_attempt.answer, shown=False
        ),
        Column("delivered", "Arrived", lambda row: row.delivered_at, shown=False),
        Column("next", "Next attempt", lambda row: row.next_attempt_at, shown=False),
        Column("id", "Id", lambda row: row.id, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Render the list, newest first. `?status=` and `?channel=` filter it."""
    every = every_delivery(request.account)
    declared = replace(DELIVERIES, filters=_filters(every))
    context = {
        "retention_days": limit_of(request.account, "ALERT_DELIVERY_DAYS"),
        "mcp_arguments": as_arguments(_query(request.GET)),
    }
    return declared.response(request, every, "alerts/deliveries.html", context)


def _filters(every: list[DeliveryRow]) -> list[ListFilter[DeliveryRow]]:
    # A renamed channel has its newest name here: deliveries come newest first.
    names = {row.channel_id: row.channel_name for row in reversed(every) if row.channel_id}
    channels = sorted(((str(pk), name) for pk, name in names.items()), key=lambda each: each[1].casefold())
    return [
        ListFilter(
            *("status", "Status", "All statuses", AlertDelivery.Status.choices),
            value=lambda row: row.status,
            counted=True,
        ),
        ListFilter("channel", "Channel", "All channels", channels, lambda row: str(row.channel_id)),
    ]


def _query(params: QueryDict) -> DeliveriesQuery:
    status = params.get("status", "")
    statuses: list[Any] = [status] if status in AlertDelivery.Status.values else []
    return DeliveriesQuery(statuses=statuses, channel=id_of(params.get("channel", "")))


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
    with ErrorMessages(request):
        delivery = services.resend(delivery=delivery, actor=request.actor)
        messages.success(request, "Resent. This is the new delivery.")
    return redirect("alert_delivery", slug=request.account.slug, delivery_id=delivery.pk)


def _delivery(pk: int) -> AlertDelivery:
    """Return the delivery of the account in scope; 404 for another account's."""
    return get_object_or_404(AlertDelivery.objects.select_related("firing", "channel"), pk=pk)
