"""What people said about savings (not worth it, or done), and recommendations brought from AWS."""

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


class ImportedSaving(AccountOwned):
    """One recommendation of AWS Cost Optimization Hub, as the newest file uploaded for its cost source has it.

    Amounts are AWS's estimates of a month of 730 hours, in `currency`, after the account's discounts.
    """

    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="+")
    recommendation_id = models.CharField(max_length=300)
    action = models.CharField(
        max_length=60, help_text="As AWS writes it: Rightsize, Stop, PurchaseSavingsPlans …"
    )
    resource_arn = models.TextField(blank=True)
    resource_type = models.CharField(max_length=100, blank=True)
    current = models.TextField(blank=True, help_text="current_resource_summary")
    recommended = models.TextField(blank=True, help_text="recommended_resource_summary")
    aws_account = models.CharField(max_length=60, blank=True)
    aws_account_name = models.CharField(max_length=255, blank=True)
    region = models.CharField(max_length=60, blank=True)
    found_by = models.CharField(max_length=60, blank=True, help_text="recommendation_source.")
    effort = models.CharField(max_length=20, blank=True)
    restart_needed = models.BooleanField(null=True, blank=True)
    rollback_possible = models.BooleanField(null=True, blank=True)
    lookback_days = models.PositiveIntegerField(null=True, blank=True)
    monthly_cost = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    monthly_saving = models.DecimalField(max_digits=38, decimal_places=18)
    currency = models.CharField(max_length=3)
    refreshed_at = models.DateTimeField(null=True, blank=True)
    imported_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-monthly_saving", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "recommendation_id"], name="imported_saving_once_in_a_source"
            ),
            models.CheckConstraint(
                condition=models.Q(monthly_saving__gte=0), name="imported_saving_is_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action}: {self.resource_arn or self.resource_type}"
