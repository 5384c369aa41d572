"""Shared-cost splits: the cost of one value of a dimension, allocated to other values."""

from __future__ import annotations

from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class SharedCostSplit(AccountModel):
    """A split that moves the cost of `source_value` of `dimension` to the targets, day by day; the total is
    unchanged.

    `targets` is a list of `{"value": …, "percent": "33.3" | null}`. Percentages belong to method fixed only and add
    up to 100. With `every_customer`, the targets are the customers that the usage metric has on the day.
    """

    class Method(models.TextChoices):
        EVEN = "even", "Even"
        PROPORTIONAL = "proportional", "Proportional to their cost"
        FIXED = "fixed", "Fixed percentages"
        USAGE = "usage", "By a usage metric"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    dimension = models.CharField(max_length=300)
    source_value = models.CharField(max_length=255)
    method = models.CharField(max_length=20, choices=Method.choices)
    targets = models.JSONField(default=list, blank=True)
    every_customer = models.BooleanField(default=False)
    usage_metric = models.CharField(max_length=100, blank=True)
    valid_from = models.DateField(null=True, blank=True)
    valid_to = models.DateField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name", name="split_name_unique", message="A split with this name already exists."
            ),
            not_empty(
                "name",
                "dimension",
                "source_value",
                name="split_is_named_and_has_a_source",
                message="A split needs a name, a dimension and a source value.",
            ),
            models.CheckConstraint(
                condition=models.Q(method="usage") ^ models.Q(usage_metric=""),
                name="split_by_usage_names_its_metric",
                violation_error_message="Only a split by usage has a usage metric.",
            ),
            models.CheckConstraint(
                condition=models.Q(every_customer=False) | models.Q(method="usage", targets=[]),
                name="split_among_every_customer_is_by_usage",
                violation_error_message=(
                    "All customers as target needs the method usage and no listed targets."
                ),
            ),
            models.CheckConstraint(
                condition=models.Q(valid_from=None)
                | models.Q(valid_to=None)
                | models.Q(valid_from__lte=models.F("valid_to")),
                name="split_ends_after_it_begins",
                violation_error_message="The last day of a split must not be before its first.",
            ),
        ]

    def __str__(self) -> str:
        return self.name
