"""Budgets: the amount that a scope may spend in each period."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class Budget(AccountModel):
    """An amount for each month, quarter or year of a scope. A BudgetAmount replaces `amount` in its own period."""

    class Period(models.TextChoices):
        MONTHLY = "monthly", "Monthly"
        QUARTERLY = "quarterly", "Quarterly"
        YEARLY = "yearly", "Yearly"

    class Scope(models.TextChoices):
        ACCOUNT = "account", "Whole account"
        COST_SOURCE = "cost_source", "One cost source"
        TEAM = "team", "One team"
        COST_TAG = "cost_tag", "One cost tag value"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    amount = models.DecimalField(max_digits=20, decimal_places=2)
    currency = models.CharField(max_length=3)
    period = models.CharField(max_length=20, choices=Period.choices, default=Period.MONTHLY)
    scope = models.CharField(max_length=20, choices=Scope.choices, default=Scope.ACCOUNT)
    cost_source = models.ForeignKey(
        "costs.CostSource", null=True, blank=True, on_delete=models.RESTRICT, related_name="+"
    )
    team = models.ForeignKey(
        "allocation.Team", null=True, blank=True, on_delete=models.RESTRICT, related_name="budgets"
    )
    cost_tag = models.ForeignKey(
        "allocation.CostTag", null=True, blank=True, on_delete=models.RESTRICT, related_name="+"
    )
    cost_tag_value = models.CharField(max_length=255, blank=True)
    warning_percent = models.PositiveSmallIntegerField(default=80)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name", name="budget_name_unique", message="A budget with this name already exists."
            ),
            not_empty("name", name="budget_has_a_name", message="Enter a name."),
            models.CheckConstraint(
                condition=Q(amount__gt=0),
                name="budget_amount_is_positive",
                violation_error_message="The amount must be more than 0.",
            ),
            models.CheckConstraint(
                condition=Q(warning_percent__gte=1, warning_percent__lte=100),
                name="budget_warns_within_its_amount",
                violation_error_message="A budget warns at 1 to 100 percent of its amount.",
            ),
            models.CheckConstraint(
                condition=Q(scope="account", cost_source=None, team=None, cost_tag=None, cost_tag_value="")
                | Q(
                    scope="cost_source",
                    cost_source__isnull=False,
                    team=None,
                    cost_tag=None,
                    cost_tag_value="",
                )
                | Q(scope="team", cost_source=None, team__isnull=False, cost_tag=None, cost_tag_value="")
                | (
                    Q(scope="cost_tag", cost_source=None, team=None, cost_tag__isnull=False)
                    & ~Q(cost_tag_value="")
                ),
                name="budget_scope_is_whole",
                violation_error_message="A budget has exactly the fields of its scope.",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BudgetAmount(AccountModel):
    """The amount of the one period of a budget that starts on `starts_on`; it replaces the budget's amount."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="amounts")
    starts_on = models.DateField()
    amount = models.DecimalField(max_digits=20, decimal_places=2)

    class Meta:
        ordering = ["starts_on"]
        constraints = [
            models.UniqueConstraint(
                fields=["budget", "starts_on"],
                name="budget_amount_unique",
                violation_error_message="The period already has an amount.",
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0),
                name="budget_period_amount_is_positive",
                violation_error_message="The amount must be more than 0.",
            ),
        ]
