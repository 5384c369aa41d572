"""Saved questions of the cost explorer."""

from __future__ import annotations

import msgspec
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.scoping import AccountModel
from finops.costs.spend_query import SpendQuery
from finops.lib import clock
from finops.lib.constraints import not_empty


class SavedView(AccountModel):
    """A question of the cost explorer with a name. Shared if it has no owner, else visible to its owner only."""

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    question = models.JSONField(help_text="finops.costs.spend_query.SpendQuery.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    changed_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                "account",
                Lower("name"),
                condition=Q(owner=None),
                name="saved_view_shared_name_unique",
                violation_error_message="A shared view with this name already exists.",
            ),
            models.UniqueConstraint(
                "account",
                "owner",
                Lower("name"),
                condition=Q(owner__isnull=False),
                name="saved_view_own_name_unique",
                violation_error_message="You already have a view with this name.",
            ),
            not_empty("name", name="saved_view_has_a_name", message="Enter a name."),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_shared(self) -> bool:
        return self.owner_id is None

    @property
    def query(self) -> SpendQuery:
        """The question. Raises msgspec.ValidationError for content that no version of this program has written."""
        return msgspec.convert(self.question, SpendQuery)
