"""Anomalies → Settings: what is watched beside the service, and from which impact on. Members change it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.allocation.models import CostTag
from finops.costs.dimensions import registry
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.costs.views.choices import dimension_choices
from finops.insights import queries
from finops.insights.anomaly_forms import MINIMUM, WATCH, AnomalySettingsForm
from finops.insights.models import Anomaly, AnomalySettings
from finops.insights.services import change_anomaly_settings
from finops.insights.services.anomalies import MAX_WATCHES, NOT_WATCHED
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: AccountRequest) -> HttpResponse:
    row = queries.anomaly_settings(request.account)
    if request.method != "POST":
        return _page(request, _form(request, row, None))
    if not request.membership.may(Role.MEMBER):
        raise PermissionDenied("This needs the role Member.")
    form = _form(request, row, request.POST)
    if form.is_valid():
        try:
            change_anomaly_settings(
                account=request.account,
                actor=request.actor,
                watches=form.watches,
                minimum_impacts=form.minimums,
            )
        except (UserError, ValidationError) as error:
            take_error(form, error)
        else:
            messages.success(request, "Saved. The cost is looked at anew within a minute.")
            return redirect("anomalies", slug=request.account.slug)
    return _page(request, form)


def _page(request: AccountRequest, form: AnomalySettingsForm) -> HttpResponse:
    status = 422 if form.errors else 200
    return render(request, "insights/anomaly_settings.html", {"form": form}, status=status)


def _form(request: AccountRequest, row: AnomalySettings, data: Any) -> AnomalySettingsForm:
    initial = {f"{WATCH}{place}": name for place, name in enumerate(row.watches, start=1)}
    initial |= {f"{MINIMUM}{currency}": amount for currency, amount in row.minimum_impacts.items()}
    return AnomalySettingsForm(
        data,
        initial=initial,
        choices=_choices(request, row),
        watches=MAX_WATCHES,
        currencies=_currencies(request, row),
    )


def _choices(request: AccountRequest, row: AnomalySettings) -> list[Any]:
    cost_tags = [(f"cost_tag:{key}", key) for key in CostTag.objects.values_list("key", flat=True)]
    choices = dimension_choices(
        registry.kinds(),
        lake_queries.tag_keys(request.account),
        [name for name in row.watches if not name.startswith("cost_tag:")],
    )
    plain = [each for each in choices.plain if each[0] not in NOT_WATCHED]
    groups = [("Dimensions", plain), ("Cost tags", cost_tags), ("Tags", choices.tags)]
    return [group for group in groups if group[1]]


def _currencies(request: AccountRequest, row: AnomalySettings) -> list[str]:
    """Those of the last 90 days' cost, of anomalies, and those set."""
    currencies = {*row.minimum_impacts, *Anomaly.objects.values_list("currency", flat=True)}
    try:
        spent = query_spend(request.account, SpendQuery(period="last_90_days"))
    except UserError:
        # Only what the form offers: what is set is in PostgreSQL.
        return sorted(currencies)
    return sorted({*currencies, *(total.currency for total in spent.totals)})
