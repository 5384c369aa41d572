"""Schedules of monthly reports by email."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.formats.locales import DEFAULT_TIME_ZONE
from finops.reports.schedule_days import SendTime

LAST_DAY = 28
"""The last day that every month has."""
LAST_HOUR = 23


class ReportSchedule(AccountModel):
    """A schedule that emails each month's report on a day of the next month. Beat checks every ten minutes what is
    due; `sent_month` is the last month sent on schedule, so repeated checks send nothing twice."""

    class Format(models.TextChoices):
        EMAIL = "email", "Email"
        EMAIL_CSV = "email_csv", "Email with CSV"

    channel = models.ForeignKey("alerts.AlertChannel", on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(
        "allocation.Team",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Empty: the whole account.",
    )
    day = models.PositiveSmallIntegerField(help_text="Day of the month after the report's month.")
    hour = models.PositiveSmallIntegerField(default=0, help_text="Time of day in the time zone.")
    time_zone = models.CharField(max_length=64, default=DEFAULT_TIME_ZONE, help_text="IANA name.")
    format = models.CharField(max_length=20, choices=Format.choices, default=Format.EMAIL)
    sent_month = models.DateField(
        null=True, blank=True, help_text="First day of the last month sent on schedule."
    )
    sent_at = models.DateTimeField(null=True, blank=True)
    delivery = models.ForeignKey(
        "alerts.AlertDelivery", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    requested_at = models.DateTimeField(
        null=True, blank=True, help_text="Requested to be sent now; cleared when sent."
    )
    problem = models.TextField(blank=True, help_text="Why the last attempt sent nothing.")
    paused_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "team"],
                name="report_schedule_unique",
                nulls_distinct=False,
                violation_error_message="The channel already has this report.",
            ),
            models.CheckConstraint(
                condition=Q(day__gte=1, day__lte=LAST_DAY),
                name="report_schedule_day_is_of_every_month",
                violation_error_message=f"The day is from 1 to {LAST_DAY}.",
            ),
            models.CheckConstraint(
                condition=Q(hour__lte=LAST_HOUR),
                name="report_schedule_hour_is_of_a_day",
                violation_error_message=f"The hour is from 0 to {LAST_HOUR}.",
            ),
        ]

    @property
    def send_time(self) -> SendTime:
        return SendTime(self.day, self.hour, self.time_zone)

    def __str__(self) -> str:
        return f"{self.team_id or 'account'} to {self.channel_id}"
