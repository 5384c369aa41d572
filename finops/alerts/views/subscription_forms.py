"""Create and change a subscription. The form reloads with a GET when its choices depend on a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.alerts import services
from finops.alerts.forms import SubscriptionForm, settings_of
from finops.alerts.models import AlertChannel
from finops.alerts.queries import SubscriptionRow, one_subscription
from finops.alerts.subscription_drafts import DEFAULT_THRESHOLDS, Trigger
from finops.alerts.views.channel_return import channel_first
from finops.alerts.views.subscriptions import subscription_of
from finops.costs.queries import list_dimension_values
from finops.lib.errors import UserError

MAX_VALUES = 50
FIRST = {
    "trigger": "budget",
    "thresholds": ", ".join(map(str, DEFAULT_THRESHOLDS)),
    "measure": "actual",
    "scope": "account",
    "frequency": "weekly",
}


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Show a form filled in from the URL (`?trigger=budget&budget=3`); a POST creates the subscription."""
    if request.method != "POST":
        initial_values = {name: value for name, value in request.GET.dict().items() if value}
        first = {**FIRST, **_only_channel(), **_usual_currency(request, initial_values)}
        return _form_page(request, SubscriptionForm(initial={**first, **initial_values}))
    if "new_channel" in request.POST:
        return redirect(channel_first(request))
    form = SubscriptionForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            result = services.create_alert_subscription(
                account=request.account, actor=request.actor, draft=form.draft()
            )
            messages.success(request, "Subscription created.")
            for note in result.notes:
                messages.info(request, note)
            return redirect(
                "alert_subscription",
                slug=request.account.slug,
                subscription_id=result.subscription.pk,
            )
    return _form_page(request, form, status=422)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, subscription_id: int) -> HttpResponse:
    subscription = subscription_of(subscription_id)
    row = one_subscription(request.account, subscription_id)
    if request.method != "POST":
        form = SubscriptionForm(
            initial={**settings_of(subscription), **request.GET.dict()}, subscription=subscription
        )
        return _form_page(request, form, row=row)
    if "new_channel" in request.POST:
        return redirect(channel_first(request, subscription_id))
    form = SubscriptionForm(request.POST, subscription=subscription)
    if form.is_valid():
        with FormErrors(form):
            services.change_alert_subscription(
                subscription=subscription, actor=request.actor, draft=form.draft()
            )
            messages.success(request, "Subscription updated.")
            return redirect("alert_subscription", slug=request.account.slug, subscription_id=subscription_id)
    return _form_page(request, form, row=row, status=422)


def _only_channel() -> dict[str, int]:
    """Select the channel if the account has only one."""
    channel_ids = list(AlertChannel.objects.values_list("pk", flat=True)[:2])
    return {"channel": channel_ids[0]} if len(channel_ids) == 1 else {}


def _usual_currency(request: AccountRequest, initial_values: Mapping[str, str]) -> dict[str, str]:
    """Set the account's currency for triggers that compare with an amount."""
    if initial_values.get("trigger") not in (Trigger.VIEW_CHANGE, Trigger.UNIT_COST):
        return {}
    currencies = [request.account.display_currency, *request.account.currencies]
    return {"currency": next(filter(None, currencies), "")}


def _form_page(
    request: AccountRequest, form: SubscriptionForm, *, row: SubscriptionRow | None = None, status: int = 200
) -> HttpResponse:
    """Render the form. `row`: the subscription that is changed."""
    context: dict[str, Any] = {"form": form, "row": row, "values": _values(request, form)}
    if not form.offers_channels:
        context["new_channel_url"] = channel_first(request)
    return render(request, "alerts/subscription_form.html", context, status=status)


def _values(request: AccountRequest, form: SubscriptionForm) -> list[str]:
    """Return values of the chosen cost tag to offer, the costliest first."""
    tag = form.chosen_tag()
    if tag is None:
        return []
    try:
        answer = list_dimension_values(request.account, f"cost_tag:{tag.key}", limit=MAX_VALUES)
    except UserError:
        # Only suggestions; the form says what is wrong with a value.
        return []
    return [each.value for each in answer.values]
