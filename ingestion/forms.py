"""Forms of the usage pages."""

from __future__ import annotations

from django import forms

from ingestion.models import UsageMetric


class UsageSourceForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="What sends the usage. For example: API gateway, production.",
        error_messages={"required": "Give the usage source a name."},
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
        help_text="Whole months before the running one, by when the events happened. Empty: for ever.",
        error_messages={
            "invalid": "Give a whole number of months, or nothing to keep usage for ever.",
            "min_value": "Keep usage for 1 to 240 months, or for ever.",
            "max_value": "Keep usage for 1 to 240 months, or for ever.",
        },
    )
    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)


class MetricForm(forms.Form):
    label = forms.CharField(
        max_length=100,
        required=False,
        help_text="What people read instead of the name. Your backend goes on sending the name.",
    )
    aggregation = forms.ChoiceField(
        label="Adds up by",
        choices=UsageMetric.Aggregation.choices,
        widget=forms.RadioSelect,
        help_text="Changes every answer about this metric at once, also about the past: Usage, unit costs, queryUsage, "
        "queryUnitCost. The events stay as they are, so it can be changed back.",
    )
