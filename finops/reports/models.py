"""Who is mailed a monthly report."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.lib import clock

LAST_DAY = 28
"""A day that every month has."""


class ReportSchedule(AccountModel):
    """The report of each month, by e-mail on a day of the next one. Beat asks every ten minutes whose day has come; `sent_month` says what
    was sent, so asking twice sends nothing twice."""

    channel = models.ForeignKey("alerts.AlertChannel", on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(
        "allocation.Team",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="None: the whole account.",
    )
    day = models.PositiveSmallIntegerField(help_text="Of the month after the report's.")
    sent_month = models.DateField(null=True, blank=True, help_text="First day of the last month sent.")
    sent_at = models.DateTimeField(null=True, blank=True)
    delivery = models.ForeignKey(
        "alerts.AlertDelivery", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    requested_at = models.DateTimeField(null=True, blank=True, help_text="Send now, until it is sent.")
    problem = models.TextField(blank=True, help_text="Why the last try sent nothing.")
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
        ]

    def __str__(self) -> str:
        return f"{self.team_id or 'account'} to {self.channel_id}"
