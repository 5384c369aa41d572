"""The list of channels, the page of a channel, and its test."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery, EventSubscription
from finops.alerts.queries import ChannelRow, channels, delivery_row, every_subscription
from finops.alerts.queries.event_subscriptions import living_event_subscriptions
from finops.alerts.recipients import channel_recipients
from finops.alerts.snippets import verification_snippets
from finops.costs.dependants import deletion_impact_text
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListFilter, ListPage

MAX_DELIVERIES = 10

CHANNELS = ListPage[ChannelRow](
    name="alert-channels",
    title="Alert channels",
    noun="channel",
    order="name",
    filters=[ListFilter("kind", "Kind", "All kinds", AlertChannel.Kind.choices, lambda row: row.kind)],
    columns=[
        Column("name", "Channel", lambda row: row.name),
        Column("kind", "Kind", lambda row: row.kind_label, css="nowrap"),
        Column("target", "Target", lambda row: row.shown_target, css="cell-name"),
        Column("subscriptions", "Subscriptions", lambda row: row.subscriptions, numeric=True),
        Column("tested", "Last successful test", lambda row: row.tested_at, format="ago", css="nowrap"),
        Column("by", "Created by", lambda row: row.created_by, shown=False),
        Column("created", "Created", lambda row: row.created_at, shown=False),
        Column("id", "Id", lambda row: row.id, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Render the list. `?kind=` filters it."""
    context = {"event_subscriptions": living_event_subscriptions(request.account)}
    return CHANNELS.response(request, channels(request.account), "alerts/channels.html", context)


@account_page()
@require_safe
def page(request: AccountRequest, channel_id: int) -> HttpResponse:
    channel = channel_of(channel_id)
    deliveries = AlertDelivery.objects.filter(channel=channel).select_related("firing")
    test = deliveries.filter(is_test=True).first()
    context = {
        "channel": channel,
        "recipients": channel_recipients(channel),
        "subscriptions": [
            each for each in every_subscription(request.account) if each.channel_id == channel.pk
        ],
        "deliveries": [delivery_row(each) for each in deliveries[:MAX_DELIVERIES]],
        "last_test": delivery_row(test) if test else None,
        "going_with_it": partial(deletion_impact_text, channel),
        "snippets": verification_snippets() if channel.kind == AlertChannel.Kind.WEBHOOK else [],
    }
    return render(request, "alerts/channel.html", context)


@account_page(Role.MEMBER)
@require_POST
def test(request: AccountRequest, channel_id: int) -> HttpResponse:
    """Send a message now and wait for the receiver's response, up to 10 s. Renders a part of the page for htmx, else
    the page of the delivery."""
    channel = channel_of(channel_id)
    try:
        delivery = services.test_channel(channel=channel, actor=request.actor)
    except UserError as error:
        if request.htmx:
            return render(request, "alerts/_test.html", {"channel": channel, "refused": error.message})
        messages.error(request, error.message)
        return redirect("alert_channel", slug=request.account.slug, channel_id=channel.pk)
    if request.htmx:
        context = {"channel": channel, "last_test": delivery_row(delivery), "just_now": True}
        return render(request, "alerts/_test.html", context)
    return redirect("alert_delivery", slug=request.account.slug, delivery_id=delivery.pk)


@account_page(Role.MEMBER)
@require_POST
def end_event_subscription(request: AccountRequest, event_subscription_id: int) -> HttpResponse:
    """End an assistant's event subscription; its callback gets a message."""
    row = get_object_or_404(EventSubscription.objects.select_related("account"), pk=event_subscription_id)
    services.end_subscription(
        subscription=row, reason=f"Ended by {request.actor.label}.", actor=request.actor
    )
    messages.success(request, "Event subscription ended.")
    return redirect("alert_channels", slug=request.account.slug)


def channel_of(pk: int) -> AlertChannel:
    """Return the channel of the account in scope; 404 for another account's."""
    return get_object_or_404(AlertChannel.objects.select_related("account", "created_by"), pk=pk)
