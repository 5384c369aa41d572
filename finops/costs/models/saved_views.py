"""Saved questions of the cost explorer."""

from __future__ import annotations

import msgspec
from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.costs.spend_query import SpendQuery
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_by_owner


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
            *unique_by_owner("saved_view", "view"),
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
