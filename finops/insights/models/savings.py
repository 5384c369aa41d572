"""What people said about savings: not worth it, or done."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from accounts.scoping import AccountOwned


class SavingsDismissal(AccountOwned):
    """A recommendation that a person put aside: dismissed with a reason, or acted on a day.

    Recommendations are computed from the bills and are not rows; this is found again by `key`. The other fields are what
    it was then, so that it can be shown and followed when the bills no longer show it.
    """

    class Status(models.TextChoices):
        DISMISSED = "dismissed", "Dismissed"
        ACTED = "acted", "Acted on"

    key = models.CharField(
        max_length=24, help_text="The id of the recommendation, made of rule, scope and currency."
    )
    status = models.CharField(max_length=10, choices=Status.choices)
    reason = models.TextField(blank=True)
    acted_on = models.DateField(null=True, blank=True)
    rule = models.CharField(max_length=40)
    title = models.TextField()
    currency = models.CharField(max_length=60)
    monthly_saving = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    monthly_cost = models.DecimalField(max_digits=38, decimal_places=18)
    scope = models.JSONField(
        default=dict,
        help_text="finops.insights.savings.candidates.Scope: whose cost is compared after acting.",
    )
    marked_by_label = models.CharField(max_length=254, blank=True)
    marked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    marked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-marked_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="savings_dismissal_key_unique"),
            models.CheckConstraint(
                condition=models.Q(status="dismissed", acted_on__isnull=True)
                | models.Q(status="acted", acted_on__isnull=False),
                name="savings_acted_has_a_day",
            ),
        ]

    def __str__(self) -> str:
        return self.title
