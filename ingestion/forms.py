"""Forms of the usage pages."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.limits import limit_of
from accounts.models import Account
from ingestion.formats.otlp import CUSTOMER_ATTRIBUTES
from ingestion.models import UsageMetric
from ingestion.services.retention import MONTHS_LIMIT


class UsageSourceForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="For example: API gateway, production.",
        error_messages={"required": "Enter a name."},
    )


class CustomerAttributeForm(forms.Form):
    customer_attribute = forms.CharField(
        label="Customer attribute of OpenTelemetry metrics",
        max_length=255,
        required=False,
        help_text=f"Default: the first of {', '.join(CUSTOMER_ATTRIBUTES)}.",
    )


class EventIdFieldForm(forms.Form):
    event_id_field = forms.CharField(
        label="Use as event_id",
        max_length=100,
        required=False,
        help_text="Field of your events that is different for each event, such as transaction_id: an event sent again counts "
        "once. Leave it empty if several events share its value, as the lines of an order do.",
    )


class UsageUploadForm(forms.Form):
    upload = forms.FileField(
        label="CSV file",
        error_messages={"required": "Choose a CSV file.", "empty": "The file is empty."},
    )


class UsageRetentionForm(forms.Form):
    """The retention in months, up to the account's ceiling."""

    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, account: Account, data: Any = None, *, months: int | None = None) -> None:
        super().__init__(data)
        ceiling = limit_of(account, MONTHS_LIMIT)
        most = ceiling or 240
        bounds = f"Keep usage for 1 to {most} months" + ("." if ceiling else ", or forever.")
        longest = f"At most {most}, as by default" if ceiling else "Default: forever"
        self.fields["months"] = forms.IntegerField(
            label="Keep raw usage for",
            required=False,
            min_value=1,
            max_value=most,
            initial=months,
            help_text=f"Full months before the current one, by event time. {longest}.",
            error_messages={
                "invalid": "Enter a whole number of months"
                + ("." if ceiling else ", or leave empty to keep usage forever."),
                "min_value": bounds,
                "max_value": bounds,
            },
        )
        self.order_fields(["months", "confirmed"])


class MetricForm(forms.Form):
    label = forms.CharField(
        max_length=100,
        required=False,
        help_text="Shown instead of the name. Your backend keeps sending the name.",
    )
    aggregation = forms.ChoiceField(
        label="Aggregation",
        choices=UsageMetric.Aggregation.choices,
        widget=forms.RadioSelect,
        help_text="Applies to all usage and unit cost of this metric, including past days. Events "
        "are unchanged, so you can change it back.",
    )
