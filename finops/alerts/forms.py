"""The form of a channel, by its kind, and the form of a subscription, by its trigger."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.db.models import QuerySet
from django.forms import BoundField

from finops.alerts.body_templates import EXAMPLES, MAX_TEMPLATE
from finops.alerts.models import AlertChannel, AlertSubscription
from finops.alerts.subscription_drafts import DIGEST_FREQUENCIES, TARGET_PLACES, SubscriptionDraft
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.costs.models import CostSource, SavedView
from finops.lib.params import id_of
from finops.unitcosts.models import UnitMetric

Kind, Trigger = AlertChannel.Kind, AlertSubscription.Trigger

KEEP_HINT = "Leave empty to keep the current value."
# A secret does not stay with a new address, where whoever enters that would receive it.
KEEP_ALL_HINT = (
    "Leave this and the fields below empty to keep their values. Otherwise what is empty is removed."
)


def _secret(label: str, help_text: str, missing: str) -> forms.CharField:
    """Return a field for a secret, which a browser neither stores nor completes."""
    attrs = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
    return forms.CharField(
        label=label,
        max_length=2_000,
        widget=forms.TextInput(attrs=attrs),
        help_text=help_text,
        error_messages={"required": missing},
    )


def _target_fields(kind: str) -> dict[str, forms.Field]:
    if kind == Kind.EMAIL:
        addresses = forms.CharField(
            label="Addresses",
            max_length=5_000,
            widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
            help_text=("One per line or separated by commas. Each receives every message of this channel."),
            error_messages={"required": "Enter at least one address."},
        )
        return {"addresses": addresses}
    if kind == Kind.PAGERDUTY:
        key = _secret(
            "Integration key",
            "32 letters and digits.",
            ("Enter the integration key of the PagerDuty service."),
        )
        url = forms.CharField(
            label="Events API address",
            required=False,
            max_length=2_000,
            widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            help_text="Only for PagerDuty's EU region: https://events.eu.pagerduty.com/v2/enqueue",
        )
        return {"routing_key": key, "url": url}
    if kind == Kind.WEBHOOK:
        return {
            "url": _secret("Endpoint URL", "HTTPS URL of your endpoint.", "Enter the webhook URL."),
            "headers": _lines("Headers", "One per line, such as Authorization: Bearer abc. Kept secret."),
            "template": _lines(
                "Body",
                "Empty for the documented JSON. Otherwise JSON with placeholders, such as "
                + " or ".join(f"{template} for {name}" for name, template in EXAMPLES.items()),
            ),
        }
    helps = {
        Kind.SLACK.value: "Begins with https://hooks.slack.com/services/. Keep it secret.",
        Kind.MICROSOFT_TEAMS.value: ("The workflow's full URL, including sig=… at the end. Keep it secret."),
    }
    return {"url": _secret("Webhook URL", helps[kind], "Enter the webhook URL.")}


def _lines(label: str, help_text: str) -> forms.CharField:
    attrs = {"rows": 3, "autocomplete": "off", "spellcheck": "false", "class": "font-monospace"}
    return forms.CharField(
        label=label,
        required=False,
        max_length=MAX_TEMPLATE,
        widget=forms.Textarea(attrs=attrs),
        help_text=help_text,
    )


class ChannelForm(forms.Form):
    """The form of a channel. `kind` decides the fields. A saved channel keeps its target when the fields are empty."""

    name = forms.CharField(
        max_length=100,
        help_text="For example #finops.",
        error_messages={"required": "Enter a name."},
    )

    def __init__(self, kind: str, *args: Any, channel: AlertChannel | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind, self.channel = kind, channel
        fields = _target_fields(kind)
        if channel is not None:
            next(iter(fields.values())).help_text = KEEP_ALL_HINT if len(fields) > 1 else KEEP_HINT
        for name, field in fields.items():
            field.required = field.required and channel is None
            self.fields[name] = field

    @property
    def target_fields(self) -> list[BoundField]:
        return [self[name] for name in self.fields if name != "name"]

    def target(self) -> dict[str, object] | None:
        """Return the target of a valid form; None to keep the saved one."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "name" and value}
        return values or None


def _trigger_fields(name: str) -> tuple[str, ...]:
    return {
        Trigger.VIEW_REPORT.value: ("saved_view", "frequency"),
        Trigger.VIEW_CHANGE.value: (
            "saved_view",
            "frequency",
            "minimum_percent",
            "minimum_impact",
            "currency",
        ),
        Trigger.UNIT_COST.value: ("unit_metric", "frequency", "target", "currency"),
        Trigger.BUDGET.value: ("budget", "thresholds", "measure"),
        Trigger.ANOMALY.value: ("scope", "minimum_impact", "currency"),
        Trigger.DIGEST.value: ("frequency",),
        Trigger.IMPORT.value: (),
        Trigger.SOURCE.value: (),
    }.get(name, ())


_OF_SCOPE: Final = {
    "cost_source": ("cost_source",),
    "team": ("team",),
    "cost_tag": ("cost_tag", "cost_tag_value"),
}
_ROWS: Final[dict[str, tuple[Callable[[], QuerySet[Any]], str]]] = {
    "channel": (lambda: AlertChannel.objects.all(), "name"),
    "budget": (lambda: Budget.objects.all(), "name"),
    "cost_source": (lambda: CostSource.objects.all(), "name"),
    "team": (lambda: Team.objects.all(), "name"),
    "cost_tag": (lambda: CostTag.objects.all(), "key"),
    "saved_view": (lambda: SavedView.objects.filter(owner=None), "name"),
    "unit_metric": (lambda: UnitMetric.objects.all(), "name"),
}
_PERIODS: Final = [("daily", "Day"), ("weekly", "Week"), ("monthly", "Month")]


def _choice(label: str, missing: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, error_messages={"required": missing})


def settings_of(row: AlertSubscription) -> dict[str, Any]:
    """Return the initial values of the form of a saved subscription."""
    impact = row.minimum_impact
    return {
        "channel": row.channel_id,
        "thresholds": ", ".join(map(str, row.thresholds)),
        "measure": row.measure,
        "minimum_impact": "" if impact is None else f"{impact:f}",
        "currency": row.currency,
        "frequency": row.frequency,
        "minimum_percent": row.minimum_percent,
        "target": "" if row.target is None else f"{row.target.normalize():f}",
    }


class SubscriptionForm(forms.Form):
    """The form of a subscription. Fields of other triggers or scopes are left out; so is, for a saved subscription,
    its subject, which cannot change."""

    channel = _choice("Send to", "Choose a channel.")
    trigger = forms.ChoiceField(label="When", choices=Trigger.choices)
    budget = _choice("Budget", "Choose a budget.")
    thresholds = forms.CharField(
        label="Thresholds",
        max_length=100,
        help_text="Percent of the budget's amount, separated by commas. Each alerts once per period.",
        error_messages={"required": "Enter percentages, such as 80, 100."},
    )
    measure = forms.ChoiceField(label="Measured by", choices=AlertSubscription.Measure.choices)
    scope = forms.ChoiceField(label="Anomalies of", choices=AlertSubscription.Scope.choices)
    cost_source = _choice("Cost source", "Choose a cost source.")
    team = _choice("Team", "Choose a team.")
    cost_tag = _choice("Cost tag", "Choose a cost tag.")
    cost_tag_value = forms.CharField(
        label="Value",
        max_length=255,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Not case-sensitive.",
        error_messages={"required": "Enter a value of the cost tag."},
    )
    minimum_impact = forms.DecimalField(
        label="Minimum impact",
        required=False,
        min_value=Decimal(0),
        max_digits=20,
        decimal_places=2,
        help_text="Excess cost so far. Default: every anomaly.",
    )
    currency = forms.CharField(
        required=False,
        max_length=3,
        widget=forms.TextInput(attrs={"list": "currencies", "autocomplete": "off"}),
        help_text="Currency of the impact, such as USD.",
    )
    frequency = forms.ChoiceField(label="Frequency", choices=AlertSubscription.Frequency.choices)
    saved_view = _choice("Saved view", "Choose a saved view.")
    minimum_percent = forms.IntegerField(
        label="Minimum change, percent",
        required=False,
        min_value=1,
        max_value=1000,
        help_text="Up or down, against the previous period.",
    )
    unit_metric = _choice("Unit metric", "Choose a unit metric.")
    target = forms.DecimalField(
        min_value=Decimal(0),
        max_digits=30,
        decimal_places=TARGET_PLACES,
        help_text="Maximum unit cost.",
        error_messages={"required": "Enter a target."},
    )

    def __init__(self, *args: Any, subscription: AlertSubscription | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.subscription = subscription
        self.asked_trigger = (
            subscription.trigger if subscription else self.field_value("trigger", Trigger.BUDGET.value)
        )
        self.visible_names = self._visible_names()
        always = ("channel",) if subscription else ("channel", "trigger")
        for name in list(self.fields):
            if name not in (*always, *self.visible_names):
                del self.fields[name]
        self._offer()

    def _visible_names(self) -> list[str]:
        names = _trigger_fields(self.asked_trigger)
        if self.subscription is not None:
            return [name for name in names if name not in ("budget", "scope", "saved_view", "unit_metric")]
        if self.asked_trigger != Trigger.ANOMALY:
            return list(names)
        return [
            "scope",
            *_OF_SCOPE.get(self.field_value("scope", "account"), ()),
            "minimum_impact",
            "currency",
        ]

    def field_value(self, name: str, default: str = "") -> str:
        """Return the value of a field before validation."""
        value = self.data.get(name) if self.is_bound else self.initial.get(name)
        return str(value) if value not in (None, "") else default

    def _offer(self) -> None:
        for name, (rows, column) in _ROWS.items():
            field: Any = self.fields.get(name)
            if field is not None:
                choices = [(str(pk), text) for pk, text in rows().order_by(column).values_list("pk", column)]
                field.choices = [("", "Choose…"), *choices]
        self._adapt_to_trigger()

    def _adapt_to_trigger(self) -> None:
        """Set labels and choices of fields that several triggers share."""
        frequency: Any = self.fields.get("frequency")
        if frequency is not None and self.asked_trigger == Trigger.DIGEST:
            every = AlertSubscription.Frequency.choices
            frequency.choices = [choice for choice in every if choice[0] in DIGEST_FREQUENCIES]
        if frequency is not None and self.asked_trigger in (Trigger.VIEW_CHANGE, Trigger.UNIT_COST):
            frequency.label, frequency.choices = "Period", _PERIODS
        if self.asked_trigger == Trigger.VIEW_CHANGE:
            amount = self.fields["minimum_impact"]
            amount.label, amount.help_text = (
                "Minimum change, amount",
                "With a percentage, both must be reached.",
            )
            self.fields["currency"].help_text = "Currency of the amount, such as USD."
        if self.asked_trigger == Trigger.UNIT_COST:
            currency = self.fields["currency"]
            currency.required, currency.help_text = True, "Currency of the target, such as USD."

    @property
    def offers_channels(self) -> bool:
        field: Any = self.fields["channel"]
        return len(field.choices) > 1

    @property
    def trigger_fields(self) -> list[BoundField]:
        return [self[name] for name in self.visible_names]

    def chosen_tag(self) -> CostTag | None:
        """Return the cost tag selected so far, if the trigger and scope need one."""
        tag_id = id_of(self.field_value("cost_tag")) if "cost_tag" in self.fields else None
        return CostTag.objects.filter(pk=tag_id).first() if tag_id else None

    def clean_thresholds(self) -> list[int]:
        """Return percentages as whole numbers. Raises ValidationError for other text, and for an empty field."""
        parts = self.cleaned_data["thresholds"].replace("%", " ").replace(";", ",").replace(",", " ").split()
        wrong = next((part for part in parts if id_of(part) is None), "")
        if wrong or not parts:
            raise forms.ValidationError(
                f"“{wrong[:20] or self.cleaned_data['thresholds']}” is not a whole number. Enter "
                "percentages such as 80, 100."
            )
        return [int(part) for part in parts]

    def draft(self) -> SubscriptionDraft:
        """Return the subscription of a valid form."""
        cleaned = self.cleaned_data
        ids = {name: int(cleaned[name]) for name in _ROWS if cleaned.get(name)}
        settings = {name: cleaned[name] for name in self.visible_names if name not in _ROWS}
        if self.asked_trigger == Trigger.VIEW_CHANGE and settings["minimum_impact"] is None:
            settings["currency"] = ""  # the field begins with the account's
        about = {"trigger": cleaned["trigger"]} if self.subscription is None else _about(self.subscription)
        return SubscriptionDraft(**{**about, **ids, **settings})


def _about(row: AlertSubscription) -> dict[str, Any]:
    """Return the subject of the subscription, which cannot change."""
    ids = {name: getattr(row, f"{name}_id") for name in _ROWS if name != "channel"}
    return {"trigger": row.trigger, "scope": row.scope, "cost_tag_value": row.cost_tag_value, **ids}
