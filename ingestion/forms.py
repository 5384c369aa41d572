"""Forms of the usage pages."""

from __future__ import annotations

from django import forms

from ingestion.formats.otlp import CUSTOMER_ATTRIBUTES
from ingestion.models import UsageMetric


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


class UsageUploadForm(forms.Form):
    upload = forms.FileField(
        label="CSV file",
        error_messages={"required": "Choose a CSV file.", "empty": "The file is empty."},
    )


class UsageRetentionForm(forms.Form):
    months = forms.IntegerField(
        label="Keep raw usage for",
        required=False,
        min_value=1,
        max_value=240,
        help_text="Full months before the current one, by event time. Default: forever.",
        error_messages={
            "invalid": "Enter a whole number of months, or leave empty to keep usage forever.",
            "min_value": "Keep usage for 1 to 240 months, or forever.",
            "max_value": "Keep usage for 1 to 240 months, or forever.",
        },
    )
    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)


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
