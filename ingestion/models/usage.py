"""Customers, dimensions and metrics of usage. The events are in the lake."""

from __future__ import annotations

from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty
from ingestion.models.sources import UsageSource

BLANK = "(blank)"
"""Shown for a blank name, which events could have before those were rejected."""


class Customer(AccountModel):
    """An end customer of the account, by the id of its backend. The row is created by the first event with it."""

    customer_id = models.CharField(max_length=255)
    name = models.TextField(blank=True)
    first_seen_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["customer_id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "customer_id"], name="customer_id_unique"),
            not_empty("customer_id", name="customer_has_an_id"),
        ]

    def __str__(self) -> str:
        return next((text for text in (self.name, self.customer_id) if text.strip()), BLANK)


class UsageDimension(AccountModel):
    """A dimension key of a source. The row is created by the first event with it and deleted with the source."""

    source = models.ForeignKey(UsageSource, on_delete=models.CASCADE, related_name="dimensions")
    name = models.CharField(max_length=255, blank=True)
    first_seen_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["source", "name"], name="usage_dimension_name_unique")]

    def __str__(self) -> str:
        return self.name if self.name.strip() else BLANK


class UsageMetric(AccountModel):
    """A metric, and how its quantities add up over time. The row is created by the first event with it."""

    class Aggregation(models.TextChoices):
        SUM = "sum", "Sum"
        AVERAGE_OF_DAYS = "average_of_days", "Average of days"
        LAST = "last", "Last value"
        MAX = "max", "Highest value"

    name = models.CharField(max_length=100)
    label = models.CharField(max_length=100, blank=True)
    aggregation = models.CharField(max_length=20, choices=Aggregation.choices, default=Aggregation.SUM)
    first_seen_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "name"], name="usage_metric_name_unique"),
            not_empty("name", name="usage_metric_has_a_name"),
            models.CheckConstraint(
                condition=models.Q(aggregation__in=["sum", "average_of_days", "last", "max"]),
                name="usage_metric_aggregation_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.label or (self.name if self.name.strip() else BLANK)
