"""Who is told of what: the list, one subscription, a new one, pausing, resuming and deleting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.audit import Actor
from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.alerts import services
from finops.alerts.forms import SubscriptionForm
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.alerts.queries import SubscriptionRow, delivery_row, every_subscription, one_subscription
from finops.alerts.subscriptions import DEFAULT_THRESHOLDS
from finops.alerts.subscriptions_query import SubscriptionsQuery
from finops.alerts.views.filters import Choice
from finops.budgets.models import Budget
from finops.costs.queries import list_dimension_values
from finops.lib.errors import UserError
from finops.lib.listing import Column, csv_of, listing, wants_csv
from finops.lib.params import as_arguments

SHOWN_DELIVERIES = 20
SHOWN_VALUES = 50
STATES = [("active", "Active"), ("paused", "Paused")]
FIRST = {
    "trigger": "budget",
    "thresholds": ", ".join(map(str, DEFAULT_THRESHOLDS)),
    "measure": "actual",
    "scope": "account",
    "frequency": "weekly",
}

COLUMNS: list[Column[SubscriptionRow]] = [
    Column("about", "Told of", lambda row: row.about.removesuffix(f", to {row.channel_name}")),
    Column("trigger", "Trigger", lambda row: row.trigger, shown=False),
    Column("channel", "Channel", lambda row: row.channel_name),
    Column("state", "State", lambda row: "paused" if row.paused else "active"),
    Column("fired", "Last told", lambda row: row.last_fired_at),
    Column("created", "Made", lambda row: row.created_at),
    Column("by", "Made by", lambda row: row.created_by, shown=False),
    Column("warning", "Warning", lambda row: row.warning, shown=False),
    Column("id", "Id", lambda row: row.id, shown=False),
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?trigger=` and `?state=` narrow the list; the newest come first."""
    every = every_subscription(request.account)
    chosen = {name: request.GET.get(name, "") for name in ("trigger", "state")}
    rows = [row for row in every if _is_chosen(row, chosen)]
    shown = listing(request, rows, COLUMNS, order="-created")
    if wants_csv(request):
        return csv_of("alert-subscriptions", COLUMNS, shown.rows)
    asked: list[Any] = [chosen["trigger"]] if chosen["trigger"] in AlertSubscription.Trigger.values else []
    context = {
        "listing": shown,
        "count": len(every),
        "filters": [
            Choice(
                "trigger", "Trigger", "All triggers", AlertSubscription.Trigger.choices, chosen["trigger"]
            ),
            Choice("state", "State", "All states", STATES, chosen["state"]),
        ],
        "has_channels": bool(every) or AlertChannel.objects.exists(),
        "mcp_arguments": as_arguments(SubscriptionsQuery(trigger=asked)),
    }
    return render(request, "alerts/subscriptions.html", context)


def _is_chosen(row: SubscriptionRow, chosen: dict[str, str]) -> bool:
    state = "paused" if row.paused else "active"
    return chosen["trigger"] in ("", row.trigger) and chosen["state"] in ("", state)


@account_page()
@require_safe
def page(request: AccountRequest, subscription_id: int) -> HttpResponse:
    subscription = _subscription(subscription_id)
    sent = AlertDelivery.objects.filter(firing__subscription=subscription).select_related("firing")
    context = {
        "row": one_subscription(request.account, subscription.pk),
        "deliveries": [delivery_row(each) for each in sent[:SHOWN_DELIVERIES]],
    }
    return render(request, "alerts/subscription.html", context)


@account_page()
@require_safe
def of_budget(request: AccountRequest, budget_id: int) -> HttpResponse:
    """The part of a budget's page that htmx brings after it: who is told of the budget."""
    budget = get_object_or_404(Budget.objects.all(), pk=budget_id)
    context = {"budget": budget, "subscriptions": every_subscription(request.account, budget_id=budget.pk)}
    return render(request, "alerts/_of_budget.html", context)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """A form filled from the URL (`?trigger=budget&budget=3`); a POST makes the subscription."""
    if request.method != "POST":
        said = {name: value for name, value in request.GET.dict().items() if value}
        return _form_page(request, SubscriptionForm(initial={**FIRST, **_only_channel(), **said}))
    form = SubscriptionForm(request.POST)
    if form.is_valid():
        try:
            made = services.create_alert_subscription(
                account=request.account, actor=request.actor, draft=form.draft()
            )
        except (UserError, ValidationError) as error:
            take_error(form, error)
        else:
            messages.success(request, "The subscription is made.")
            for note in made.notes:
                messages.info(request, note)
            return redirect(
                "alert_subscription",
                slug=request.account.slug,
                subscription_id=made.subscription.pk,
            )
    return _form_page(request, form, status=422)


def _only_channel() -> dict[str, int]:
    """Where there is one channel, nobody needs to choose it."""
    found = list(AlertChannel.objects.values_list("pk", flat=True)[:2])
    return {"channel": found[0]} if len(found) == 1 else {}


def _form_page(request: AccountRequest, form: SubscriptionForm, *, status: int = 200) -> HttpResponse:
    context = {"form": form, "values": _values(request, form)}
    return render(request, "alerts/subscription_form.html", context, status=status)


def _values(request: AccountRequest, form: SubscriptionForm) -> list[str]:
    """Values of the chosen cost tag to offer, the costliest first."""
    tag = form.chosen_tag()
    if tag is None:
        return []
    try:
        found = list_dimension_values(request.account, f"cost_tag:{tag.key}", limit=SHOWN_VALUES)
    except UserError:
        # Only suggestions; the form says what is wrong with a value.
        return []
    return [each.value for each in found.values]


@account_page(Role.MEMBER)
@require_POST
def pause(request: AccountRequest, subscription_id: int) -> HttpResponse:
    return _changed(
        request,
        subscription_id,
        services.pause_alert_subscription,
        "It is paused: nothing is sent for it until it is resumed.",
    )


@account_page(Role.MEMBER)
@require_POST
def resume(request: AccountRequest, subscription_id: int) -> HttpResponse:
    return _changed(
        request, subscription_id, services.resume_alert_subscription, "It is resumed, from now on."
    )


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, subscription_id: int) -> HttpResponse:
    subscription = _subscription(subscription_id)
    try:
        services.delete_alert_subscription(subscription=subscription, actor=request.actor)
    except UserError as error:
        messages.error(request, error.message)
    else:
        messages.success(
            request, "The subscription is deleted. What it sent stays in the list of deliveries."
        )
    return redirect("alerts", slug=request.account.slug)


def _changed(
    request: AccountRequest, pk: int, change: Callable[..., AlertSubscription], said: str
) -> HttpResponse:
    actor: Actor = request.actor
    try:
        change(subscription=_subscription(pk), actor=actor)
    except UserError as error:
        messages.error(request, error.message)
        return redirect("alerts", slug=request.account.slug)
    messages.success(request, said)
    return redirect("alert_subscription", slug=request.account.slug, subscription_id=pk)


def _subscription(pk: int) -> AlertSubscription:
    """The subscription of the account in scope; 404 for another's."""
    return get_object_or_404(AlertSubscription.objects.select_related("account"), pk=pk)
