"""Models that relate cost to usage: the key whose values are customers, their aliases, and saved unit metrics."""

from __future__ import annotations

from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class CustomerKey(AccountModel):
    """The dimension of cost whose values are customer ids: `tag:<key>` or `cost_tag:<key>`."""

    account = models.OneToOneField("accounts.Account", on_delete=models.CASCADE, related_name="customer_key")
    dimension = models.CharField(max_length=300)

    class Meta:
        constraints = [not_empty("dimension", name="customer_key_names_a_dimension")]

    def __str__(self) -> str:
        return self.dimension


class CustomerAlias(AccountModel):
    """An alias: cost whose customer key has `value` belongs to the customer `customer_id`."""

    value = models.CharField(max_length=500)
    customer_id = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["value"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "value"],
                name="customer_alias_value_unique",
                violation_error_message="This value is already mapped. Remove that alias first.",
            ),
            not_empty(
                "value",
                "customer_id",
                name="customer_alias_is_whole",
                message="An alias needs a value and a customer id.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.value} → {self.customer_id}"


class UsageDimensionMapping(AccountModel):
    """A filter of cost on `cost_dimension` also filters usage, by its dimension `usage_dimension`."""

    cost_dimension = models.CharField(max_length=300)
    usage_dimension = models.CharField(max_length=300, help_text="A key of usage events, or customer.")
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["cost_dimension"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "cost_dimension"],
                name="usage_dimension_mapping_unique",
                violation_error_message=("This cost dimension is already mapped. Remove that mapping first."),
            ),
            not_empty(
                "cost_dimension",
                "usage_dimension",
                name="usage_dimension_mapping_is_whole",
                message="A mapping needs a dimension of cost and one of usage.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cost_dimension} → {self.usage_dimension}"


class UnitMetric(AccountModel):
    """A saved unit cost: a cost divided by a usage metric, shown per number of units."""

    class Mode(models.TextChoices):
        TOTAL = "total", "One figure"
        PER_CUSTOMER = "per_customer", "By customer"

    class Splits(models.TextChoices):
        BEFORE = "before", "Before splits"
        AFTER = "after", "After splits"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    description = models.CharField(max_length=500, blank=True)
    filters = models.JSONField(default=list, blank=True)
    usage_filters = models.JSONField(default=list, blank=True)
    basis = models.CharField(max_length=20, blank=True, help_text="Empty: the account's cost view.")
    charge_categories = models.JSONField(default=list, blank=True)
    splits = models.CharField(max_length=10, choices=Splits.choices, default=Splits.BEFORE)
    usage_metric = models.CharField(max_length=100)
    per = models.PositiveBigIntegerField(default=1, help_text="Number of units per displayed unit cost.")
    mode = models.CharField(max_length=20, choices=Mode.choices, default=Mode.TOTAL)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name", name="unit_metric_name_unique", message="A unit metric with this name already exists."
            ),
            not_empty(
                "name",
                "usage_metric",
                name="unit_metric_is_named_and_divides",
                message="A unit metric needs a name and a usage metric.",
            ),
            models.CheckConstraint(
                condition=models.Q(per__gt=0),
                name="unit_metric_scale_is_positive",
                violation_error_message="A unit cost is shown per a number of units above 0.",
            ),
        ]

    def __str__(self) -> str:
        return self.name
