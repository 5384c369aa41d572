"""Cost tags: virtual tags that the account's own rules assign to cost lines."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class CostTag(AccountModel):
    """A key and its ordered rules. A line gets the value of the first rule that matches.

    The rules are one document (`finops.allocation.rules`), because they are read, ordered, exported and replaced as a
    whole. `version` counts the changes; a writer passes the version that the change started from.
    """

    key = models.CharField(max_length=100, error_messages={"blank": "Enter a key."})
    description = models.CharField(max_length=500, blank=True)
    rules = models.JSONField(default=list)
    default_value = models.CharField(
        max_length=255, blank=True, help_text="Value of lines that match no rule; empty: (untagged)."
    )
    version = models.PositiveIntegerField(default=1)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    changed_at = models.DateTimeField(default=clock.now)
    changed_by = models.CharField(
        max_length=254, blank=True, help_text="Person who last saved it, as in the audit log."
    )

    class Meta:
        ordering = ["key"]
        constraints = [
            unique_in_account(
                "key", name="cost_tag_key_unique", message="A cost tag with this key already exists."
            ),
            not_empty("key", name="cost_tag_has_a_key", message="Enter a key."),
        ]

    def __str__(self) -> str:
        return self.key
