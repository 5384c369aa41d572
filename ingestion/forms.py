"""Forms of the usage pages."""

from __future__ import annotations

from django import forms


class UsageSourceForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="What sends the usage. For example: API gateway, production.",
        error_messages={"required": "Give the usage source a name."},
    )


class UploadForm(forms.Form):
    upload = forms.FileField(
        label="CSV file",
        error_messages={"required": "Choose a CSV file.", "empty": "The file is empty."},
    )
