"""The form of a report's schedule."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.forms import TimeZoneField
from finops.alerts.models import AlertChannel
from finops.allocation.models import Team
from finops.lib.params import id_of
from finops.reports.models import LAST_DAY, LAST_HOUR, ReportSchedule
from finops.reports.services import ReportScheduleDraft

FIRST_DAY = 5
"""The first day on which most bills of the previous month are complete."""
FIRST_HOUR = 8


class ReportScheduleForm(forms.Form):
    """The form of a schedule. The account must be in scope: its email channels and teams are the choices."""

    team = forms.ChoiceField(label="Report of", required=False)
    channel = forms.ChoiceField(label="Send to", error_messages={"required": "Choose a channel."})
    day = forms.IntegerField(
        label="Day of the month",
        initial=FIRST_DAY,
        min_value=1,
        max_value=LAST_DAY,
        help_text=f"1 to {LAST_DAY}. The report is of the month before.",
        error_messages={"required": "Enter a day."},
    )
    hour = forms.TypedChoiceField(
        label="Time",
        coerce=int,
        initial=FIRST_HOUR,
        choices=[(hour, f"{hour:02}:00") for hour in range(LAST_HOUR + 1)],
    )
    time_zone = TimeZoneField()
    format = forms.ChoiceField(choices=ReportSchedule.Format.choices, initial=ReportSchedule.Format.EMAIL)
    paused = forms.BooleanField(required=False)

    def __init__(self, *args: Any, is_new: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_new:
            del self.fields["paused"]
        channels = AlertChannel.objects.filter(kind=AlertChannel.Kind.EMAIL)
        self.channels = [
            (str(pk), f"{name} ({addresses})")
            for pk, name, addresses in channels.values_list("pk", "name", "shown_target")
        ]
        teams = [(str(pk), name) for pk, name in Team.objects.order_by("name").values_list("pk", "name")]
        choices = {"channel": self.channels, "team": [("", "Whole account"), *teams]}
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for mypy
            field.choices = values

    def draft(self) -> ReportScheduleDraft:
        """Return the schedule of a valid form, without the pause."""
        data = self.cleaned_data
        channel_id = id_of(data["channel"])
        assert channel_id is not None  # noqa: S101 - one of the choices
        return ReportScheduleDraft(
            channel_id=channel_id,
            team_id=id_of(data["team"]) if data["team"] else None,
            day=data["day"],
            hour=data["hour"],
            time_zone=data["time_zone"],
            format=data["format"],
        )


def settings_of(row: ReportSchedule) -> dict[str, Any]:
    """Return the initial values of the form of a saved schedule."""
    return {
        "channel": row.channel_id,
        "team": row.team_id or "",
        "day": row.day,
        "hour": row.hour,
        "time_zone": row.time_zone,
        "format": row.format,
        "paused": row.paused_at is not None,
    }
