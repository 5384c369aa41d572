"""Months that an account has closed, with their sums at that time."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock


class ClosedMonth(AccountModel):
    """A billing month that the account has closed. Its sums stay fixed; imports continue."""

    month = models.DateField(help_text="The first day of the billing month.")
    closed_at = models.DateTimeField(default=clock.now)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    closed_by_label = models.CharField(max_length=254, blank=True)
    note = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["-month"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "month"],
                name="closed_month_unique",
                violation_error_message="The month is already closed.",
            ),
            models.CheckConstraint(condition=models.Q(month__day=1), name="closed_month_is_a_first_day"),
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"


class ClosedMonthSum(AccountModel):
    """The sum of a source's lines of a closed month in one currency: when it was closed, and now.

    `source_id` and `source_name` are from that time: the source may be deleted.
    """

    closed_month = models.ForeignKey(ClosedMonth, on_delete=models.CASCADE, related_name="sums")
    source_id = models.BigIntegerField()
    source_name = models.CharField(max_length=100)
    currency = models.CharField(max_length=60)
    billed_cost = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    effective_cost = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    billed_now = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    effective_now = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    restated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["currency", "source_name"]
        constraints = [
            models.UniqueConstraint(
                fields=["closed_month", "source_id", "currency"], name="closed_month_sum_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.source_name}: {self.billed_cost} {self.currency}"
