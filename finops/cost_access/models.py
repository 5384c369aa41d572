"""Limits on who may see what cost, and their assignments."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import Invitation, Membership
from accounts.scoping import AccountModel
from accounts.sso.models import IdentityProvider
from finops.lib import clock
from finops.lib.constraints import not_empty


class CostAccessLimit(AccountModel):
    """A limit on cost: its readers see the lines that match all filters of at least one alternative."""

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    alternatives: models.JSONField[list[list[dict[str, Any]]], list[list[dict[str, Any]]]] = models.JSONField(
        default=list, help_text="Lists of filters: dimension, op, values."
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    earlier_of = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.CASCADE,
        related_name="earlier",
        help_text="Earlier filters of this limit, which also apply to what had it then.",
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                "account",
                Lower("name"),
                condition=Q(earlier_of=None),
                name="cost_access_limit_name_unique",
                violation_error_message="Another limit has this name.",
            ),
            not_empty("name", name="cost_access_limit_has_a_name", message="Enter a name."),
            models.CheckConstraint(
                condition=~Q(alternatives=[]),
                name="cost_access_limit_has_a_filter",
                violation_error_message="Add a filter.",
            ),
        ]

    def __str__(self) -> str:
        return self.name


CREATION_FIELDS = (
    "key",
    "connection",
    "data_export",
    "report_schedule",
    "alert_channel",
    "alert_subscription",
)
"""Readers that a person made (`accounts/creations.py`): each can have several limits, which all apply."""
READER_FIELDS = ("membership", *CREATION_FIELDS, "invitation", "provider")


def _only(name: str) -> Q:
    return Q(**{f"{each}__isnull": each != name for each in READER_FIELDS})


def _creation(model: str) -> models.ForeignKey[Any, Any]:
    # No separate index: the index of the constraint begins with it.
    return models.ForeignKey(
        model, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )


class CostAccessAssignment(AccountModel):
    """An assignment of a limit to a member, to what a member made, to an invitation, or to members added by an identity
    provider.

    What a member made keeps each limit that the member has had since, so that nothing widens when the member's limit is
    removed or replaced."""

    # RESTRICT: a limit that is deleted would leave its readers without one; with its account it goes.
    limit = models.ForeignKey(CostAccessLimit, on_delete=models.RESTRICT, related_name="assignments")
    membership = models.OneToOneField(
        Membership, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    key = _creation("accounts.MCPKey")
    connection = _creation("accounts.OAuthConnection")
    data_export = _creation("data_exports.DataExport")
    report_schedule = _creation("reports.ReportSchedule")
    alert_channel = _creation("alerts.AlertChannel")
    alert_subscription = _creation("alerts.AlertSubscription")
    invitation = models.OneToOneField(
        Invitation, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    provider = models.OneToOneField(
        IdentityProvider, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=reduce(or_, (_only(name) for name in READER_FIELDS)),
                name="cost_access_assignment_of_one",
                violation_error_message="A limit is assigned to one reader, invitation or identity provider.",
            ),
            *(
                models.UniqueConstraint(fields=[name, "limit"], name=f"cost_access_limit_once_of_{name}")
                for name in CREATION_FIELDS
            ),
        ]

    def __str__(self) -> str:
        readers = (getattr(self, f"{name}_id") for name in READER_FIELDS)
        return f"{self.limit_id} of {next(filter(None, readers), None)}"


class FormerMemberLimit(AccountModel):
    """The limit of a member who left, for the case that single sign-on or SCIM adds the person again."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    limit = models.ForeignKey(CostAccessLimit, on_delete=models.CASCADE, related_name="former_members")
    left_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "user"], name="cost_access_one_former_limit"),
        ]

    def __str__(self) -> str:
        return f"{self.limit_id} of {self.user_id}, who left"
