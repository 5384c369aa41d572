"""Forms of the savings pages."""

from __future__ import annotations

from django import forms


class DismissForm(forms.Form):
    """Why it is not worth doing."""

    reason = forms.CharField(
        label="Reason",
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Why it is not worth doing. It then counts in no total.",
    )


class ActedForm(forms.Form):
    """When something was done about it."""

    acted_on = forms.DateField(
        label="Done on",
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text="The bills after this day show what it saved.",
    )
    note = forms.CharField(label="Note", max_length=2_000, required=False)
