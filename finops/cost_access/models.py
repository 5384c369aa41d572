"""Limits on who may see what cost, and their assignments."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Invitation, MCPKey, Membership, OAuthConnection
from accounts.scoping import AccountModel
from accounts.sso.models import IdentityProvider
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class CostAccessLimit(AccountModel):
    """A limit on cost: its readers see the lines that match all filters of at least one alternative."""

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    alternatives: models.JSONField[list[list[dict[str, Any]]], list[list[dict[str, Any]]]] = models.JSONField(
        default=list, help_text="Lists of filters: dimension, op, values."
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name", name="cost_access_limit_name_unique", message="Another limit has this name."
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


READER_FIELDS = ("membership", "key", "connection", "invitation", "provider")


def _only(name: str) -> Q:
    return Q(**{f"{each}__isnull": each != name for each in READER_FIELDS})


class CostAccessAssignment(AccountModel):
    """An assignment of a limit to a member, MCP key or connected app, to an invitation, or to members added by an
    identity provider."""

    # RESTRICT: a limit that is deleted would leave its readers without one; with its account it goes.
    limit = models.ForeignKey(CostAccessLimit, on_delete=models.RESTRICT, related_name="assignments")
    membership = models.OneToOneField(
        Membership, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    key = models.OneToOneField(MCPKey, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    connection = models.OneToOneField(
        OAuthConnection, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
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
                violation_error_message=(
                    "A limit is assigned to one member, key, connected app, invitation or identity provider."
                ),
            )
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
