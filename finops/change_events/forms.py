"""Forms of change events and their sources."""

from __future__ import annotations

from django import forms


class EventSourceForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="For example: GitHub Actions, production cluster.",
        error_messages={"required": "Enter a name."},
    )
