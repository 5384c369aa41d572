"""Forms of limited cost access."""

from __future__ import annotations

from django import forms


class LimitForm(forms.Form):
    """The name of a limit. Its filters are chips beside the form."""

    name = forms.CharField(
        max_length=100,
        help_text="Limited readers see it. For example: Core team.",
        error_messages={"required": "Enter a name."},
    )
    widens_creations = forms.BooleanField(
        label="Keys, apps, exports and alerts may see more too",
        required=False,
        help_text="Otherwise what they see gets narrower, but never wider.",
    )
