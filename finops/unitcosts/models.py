"""How cost and usage meet: the key whose values are customers, and other spellings of them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from accounts.scoping import AccountOwned


class CustomerKey(AccountOwned):
    """The dimension of cost whose values are customer ids: `tag:<key>`, later also `cost_tag:<key>`."""

    account = models.OneToOneField("accounts.Account", on_delete=models.CASCADE, related_name="customer_key")
    dimension = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~models.Q(dimension=""), name="customer_key_names_a_dimension")
        ]

    def __str__(self) -> str:
        return self.dimension


class CustomerAlias(AccountOwned):
    """Another spelling: cost whose customer key has `value` belongs to the customer `customer_id`."""

    value = models.CharField(max_length=500)
    customer_id = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["value"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "value"],
                name="customer_alias_value_unique",
                violation_error_message="This value is mapped already; remove that alias first.",
            ),
            models.CheckConstraint(
                condition=~models.Q(value="") & ~models.Q(customer_id=""),
                name="customer_alias_is_whole",
                violation_error_message="An alias needs a value and a customer id.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.value} → {self.customer_id}"
