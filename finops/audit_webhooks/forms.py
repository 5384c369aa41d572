"""Forms of Settings → Audit log → Webhook."""

from __future__ import annotations

from datetime import UTC, datetime, time

from django import forms

_DATE = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class UrlForm(forms.Form):
    url = forms.CharField(
        label="URL",
        max_length=2000,
        widget=forms.URLInput(attrs={"placeholder": "https://siem.example.com/hooks/finops"}),
        help_text="HTTPS, with its path.",
        error_messages={"required": "Enter the URL."},
    )


class SendAgainForm(forms.Form):
    since = forms.DateField(
        label="Send again from", widget=_DATE, error_messages={"required": "Choose a day."}
    )

    def moment(self) -> datetime:
        """The begin of the day, UTC."""
        return datetime.combine(self.cleaned_data["since"], time(), UTC)


class NewWebhookForm(UrlForm):
    since = forms.DateField(
        label="Back-fill from",
        required=False,
        widget=_DATE,
        help_text="UTC. Default: no back-fill, entries from now on.",
    )

    def moment(self) -> datetime | None:
        """The begin of the chosen day, UTC; None for now."""
        day = self.cleaned_data["since"]
        return datetime.combine(day, time(), UTC) if day else None
