"""The list of subscriptions, one subscription, and the actions to pause, resume and delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.audit import Actor
from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery, AlertEvaluation, AlertSubscription
from finops.alerts.queries import SubscriptionRow, delivery_row, every_subscription, one_subscription
from finops.alerts.schemas import SubscriptionsQuery
from finops.budgets.models import Budget
from finops.budgets.scopes import visible_budgets
from finops.lib.listing import Column, ListFilter, ListPage
from finops.lib.params import as_arguments

MAX_DELIVERIES = 20
STATES = [("active", "Active"), ("paused", "Paused")]


def _state(row: SubscriptionRow) -> str:
    return "paused" if row.paused else "active"


SUBSCRIPTIONS = ListPage[SubscriptionRow](
    name="alert-subscriptions",
    title="Alert subscriptions",
    noun="subscription",
    order="-created",
    filters=[
        ListFilter(
            "trigger", "Trigger", "All triggers", AlertSubscription.Trigger.choices, lambda row: row.trigger
        ),
        ListFilter("state", "State", "All states", STATES, _state),
    ],
    columns=[
        Column("about", "Alert", lambda row: row.about.removesuffix(f", to {row.channel_name}")),
        Column("trigger", "Trigger", lambda row: row.trigger, shown=False),
        Column("channel", "Channel", lambda row: row.channel_name, css="cell-name"),
        Column("state", "State", _state, css="nowrap"),
        Column("fired", "Last sent", lambda row: row.last_fired_at, format="ago", css="nowrap"),
        Column("created", "Created", lambda row: row.created_at, css="nowrap"),
        Column("by", "Created by", lambda row: row.created_by, shown=False),
        Column("warning", "Warning", lambda row: row.warning, shown=False),
        Column("id", "Id", lambda row: row.id, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Render the list, newest first. `?trigger=` and `?state=` filter it."""
    every = every_subscription(request.account)
    trigger = request.GET.get("trigger", "")
    triggers: list[Any] = [trigger] if trigger in AlertSubscription.Trigger.values else []
    context = {
        "has_channels": bool(every) or AlertChannel.objects.exists(),
        "mcp_arguments": as_arguments(SubscriptionsQuery(triggers=triggers)),
    }
    return SUBSCRIPTIONS.response(request, every, "alerts/subscriptions.html", context)


@account_page()
@require_safe
def page(request: AccountRequest, subscription_id: int) -> HttpResponse:
    subscription = subscription_of(subscription_id)
    deliveries = AlertDelivery.objects.filter(firing__subscription=subscription).select_related("firing")
    context = {
        "row": one_subscription(request.account, subscription.pk),
        "deliveries": [delivery_row(each) for each in deliveries[:MAX_DELIVERIES]],
        "evaluation": AlertEvaluation.objects.exclude(error="").first(),
    }
    return render(request, "alerts/subscription.html", context)


@account_page()
@require_safe
def of_budget(request: AccountRequest, budget_id: int) -> HttpResponse:
    """Render the subscriptions on a budget's page, which htmx loads after it."""
    rows = Budget.objects.select_related("cost_source", "team", "cost_tag")
    budget = get_object_or_404(rows, pk=budget_id)
    if not visible_budgets([budget]):
        raise Http404("no such budget")
    context = {"budget": budget, "subscriptions": every_subscription(request.account, budget_id=budget.pk)}
    return render(request, "alerts/_of_budget.html", context)


@account_page(Role.MEMBER)
@require_POST
def pause(request: AccountRequest, subscription_id: int) -> HttpResponse:
    return _change_and_redirect(
        request,
        subscription_id,
        services.pause_alert_subscription,
        "Subscription paused.",
    )


@account_page(Role.MEMBER)
@require_POST
def resume(request: AccountRequest, subscription_id: int) -> HttpResponse:
    return _change_and_redirect(
        request, subscription_id, services.resume_alert_subscription, "Subscription resumed."
    )


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, subscription_id: int) -> HttpResponse:
    subscription = subscription_of(subscription_id)
    with ErrorMessages(request):
        services.delete_alert_subscription(subscription=subscription, actor=request.actor)
        messages.success(request, "Subscription deleted. Its deliveries stay in the list.")
    return redirect("alerts", slug=request.account.slug)


def _change_and_redirect(
    request: AccountRequest, pk: int, change: Callable[..., AlertSubscription], success_message: str
) -> HttpResponse:
    actor: Actor = request.actor
    with ErrorMessages(request):
        change(subscription=subscription_of(pk), actor=actor)
        messages.success(request, success_message)
        return redirect("alert_subscription", slug=request.account.slug, subscription_id=pk)
    return redirect("alerts", slug=request.account.slug)


def subscription_of(pk: int) -> AlertSubscription:
    """Return the subscription of the account in scope; 404 for another account's."""
    return get_object_or_404(AlertSubscription.objects.select_related("account"), pk=pk)
