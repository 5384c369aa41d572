"""Forms of change events and their sources."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.limits import limit_of
from accounts.models import Account
from finops.change_events.models import DAYS_LIMIT, FEWEST_DAYS, MAX_TITLE, MAX_URL, ChangeEvent
from finops.change_events.scope_text import MAX_TEXT, scope_from_text, text_of_scope
from finops.change_events.services.notes import NoteDraft
from finops.lib.errors import UserError


class EventSourceForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="For example: GitHub Actions, production cluster.",
        error_messages={"required": "Enter a name."},
    )


class ChangeEventRetentionForm(forms.Form):
    """The days that the account keeps events, up to its ceiling."""

    def __init__(self, account: Account, data: Any = None, *, days: int | None = None) -> None:
        super().__init__(data)
        most = limit_of(account, DAYS_LIMIT)
        self.fields["days"] = forms.IntegerField(
            label="Days to keep",
            min_value=FEWEST_DAYS,
            max_value=most,
            initial=days,
            help_text=f"{FEWEST_DAYS} to {most:,} days. Older events are permanently deleted within a day.",
            error_messages={
                "required": "Enter a number of days.",
                "invalid": "Enter a whole number of days.",
            },
        )


class ChartNoteForm(forms.Form):
    """The form of a note on a cost chart."""

    day = forms.DateField(
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"required": "Enter a day.", "invalid": "Enter a day, such as 2026-11-02."},
    )
    title = forms.CharField(label="Note", max_length=MAX_TITLE, error_messages={"required": "Enter a note."})
    scope = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One dimension=value per line. Default: all cost.",
    )
    url = forms.CharField(label="Link (optional)", required=False, max_length=MAX_URL)

    def clean_scope(self) -> dict[str, list[str]]:
        """Raises ValidationError for a line that is no scope."""
        try:
            return scope_from_text(self.cleaned_data["scope"])
        except UserError as error:
            raise forms.ValidationError(error.message) from error

    def draft(self) -> NoteDraft:
        """The note of a valid form."""
        data = self.cleaned_data
        return NoteDraft(day=data["day"], title=data["title"], scope=data["scope"], url=data["url"].strip())

    @classmethod
    def of(cls, note: ChangeEvent) -> ChartNoteForm:
        return cls(
            initial={
                "day": note.occurred_at.date(),
                "title": note.title,
                "scope": text_of_scope(note.scope),
                "url": note.url,
            }
        )
