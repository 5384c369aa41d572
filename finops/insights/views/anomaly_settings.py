"""Settings of anomaly detection: what is watched, and the smallest impact."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.models import CostTag
from finops.costs.dimensions import registry
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.costs.views.choices import dimension_choices
from finops.insights.anomalies import queries
from finops.insights.anomalies.services import MAX_WATCHES, NOT_WATCHED, change_anomaly_settings
from finops.insights.models import Anomaly, AnomalySettings
from finops.lake import queries as lake_queries
from finops.lake.engine.conversion import currency_scope
from finops.lib.errors import UserError

MINIMUM = "minimum_"


class AnomalySettingsForm(forms.Form):
    """What is watched beside the service, and the smallest impact in each currency that the account has."""

    def __init__(
        self, *args: Any, choices: list[Any], watches: int, currencies: list[str], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.choices = choices
        self.fields["watches"] = forms.MultipleChoiceField(
            label="Additional dimensions",
            required=False,
            choices=choices,
            widget=forms.CheckboxSelectMultiple,
            help_text=f"Up to {watches}. Each value, such as a team, gets its own forecast.",
        )
        for currency in currencies:
            self.fields[f"{MINIMUM}{currency}"] = forms.DecimalField(
                label=f"Minimum impact in {currency}",
                required=False,
                min_value=Decimal(0),
                max_digits=30,
                decimal_places=6,
            )

    @property
    def watches(self) -> list[str]:
        """The dimensions chosen."""
        return list(self.cleaned_data["watches"])

    @property
    def minimums(self) -> dict[str, Decimal | None]:
        """The amounts given, by currency."""
        cleaned = self.cleaned_data
        return {name.removeprefix(MINIMUM): cleaned[name] for name in cleaned if name.startswith(MINIMUM)}

    @property
    def watch_groups(self) -> list[tuple[str, list[forms.boundfield.BoundWidget]]]:
        """The checkboxes of the dimensions by kind."""
        boxes = {each.data["value"]: each for each in self["watches"]}
        return [(name, [boxes[value] for value, _label in choices]) for name, choices in self.choices]

    @property
    def amount_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(MINIMUM)]


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: AccountRequest) -> HttpResponse:
    """Everybody sees what is watched. Raises PermissionDenied for a change by a viewer."""
    row = queries.anomaly_settings(request.account)
    if request.method != "POST":
        return _settings_page(request, _settings_form(request, row, None))
    if not request.membership.may(Role.MEMBER):
        raise PermissionDenied("Requires the role Member.")
    form = _settings_form(request, row, request.POST)
    if form.is_valid():
        with FormErrors(form):
            change_anomaly_settings(
                account=request.account,
                actor=request.actor,
                watches=form.watches,
                minimum_impacts=form.minimums,
            )
            messages.success(request, "Saved. Detection runs again within a minute.")
            return redirect("anomalies", slug=request.account.slug)
    return _settings_page(request, form)


def _settings_page(request: AccountRequest, form: AnomalySettingsForm) -> HttpResponse:
    status = 422 if form.errors else 200
    return render(request, "insights/anomaly_settings.html", {"form": form}, status=status)


def _settings_form(request: AccountRequest, row: AnomalySettings, data: Any) -> AnomalySettingsForm:
    initial: dict[str, Any] = {"watches": row.watches}
    initial |= {f"{MINIMUM}{currency}": amount for currency, amount in row.minimum_impacts.items()}
    return AnomalySettingsForm(
        data,
        initial=initial,
        choices=_watch_choices(request, row),
        watches=MAX_WATCHES,
        currencies=_settings_currencies(request, row),
    )


def _watch_choices(request: AccountRequest, row: AnomalySettings) -> list[Any]:
    cost_tags = [(f"cost_tag:{key}", key) for key in CostTag.objects.values_list("key", flat=True)]
    choices = dimension_choices(
        registry.kinds(),
        lake_queries.tag_keys(request.account),
        [name for name in row.watches if not name.startswith("cost_tag:")],
    )
    not_offered = {value for value, _label in cost_tags} | set(NOT_WATCHED)
    plain = [each for each in choices.plain if each[0] not in not_offered]
    tags = [each for each in choices.tags if each[0] not in not_offered]
    groups = [("Dimensions", plain), ("Cost tags", cost_tags), ("Tags", tags)]
    return [group for group in groups if group[1]]


def _settings_currencies(request: AccountRequest, row: AnomalySettings) -> list[str]:
    """Those of the last 90 days' cost, of anomalies, and those set."""
    currencies = {*row.minimum_impacts, *Anomaly.objects.values_list("currency", flat=True)}
    try:
        with currency_scope(None):
            spent = query_spend(request.account, SpendQuery(period="last_90_days"))
    except UserError:
        # Only what the form offers: what is set is in PostgreSQL.
        return sorted(currencies)
    return sorted({*currencies, *(total.currency for total in spent.totals)})
