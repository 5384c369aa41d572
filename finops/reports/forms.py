"""The form of a report's schedule."""

from __future__ import annotations

from typing import Any

from django import forms

from finops.alerts.models import AlertChannel
from finops.allocation.models import Team
from finops.lib.params import id_of
from finops.reports.models import LAST_DAY

FIRST_DAY = 5
"""By when most bills of the month before are complete."""


class ReportScheduleForm(forms.Form):
    """The account must be in scope: it offers its e-mail channels and teams."""

    channel = forms.ChoiceField(label="Send to", error_messages={"required": "Choose a channel."})
    team = forms.ChoiceField(label="Report of", required=False)
    day = forms.IntegerField(
        label="Day of the month",
        initial=FIRST_DAY,
        min_value=1,
        max_value=LAST_DAY,
        help_text=f"1 to {LAST_DAY}. The report is of the month before.",
        error_messages={"required": "Enter a day."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        channels = AlertChannel.objects.filter(kind=AlertChannel.Kind.EMAIL).values_list("pk", "name")
        self.channels = [(str(pk), name) for pk, name in channels]
        teams = [(str(pk), name) for pk, name in Team.objects.order_by("name").values_list("pk", "name")]
        choices = {"channel": self.channels, "team": [("", "Whole account"), *teams]}
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for mypy
            field.choices = values

    def draft(self) -> dict[str, Any]:
        """What a valid form says."""
        return {
            "channel_id": id_of(self.cleaned_data["channel"]),
            "team_id": id_of(self.cleaned_data["team"]) if self.cleaned_data["team"] else None,
            "day": self.cleaned_data["day"],
        }
