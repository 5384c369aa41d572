"""The record of an account's deletion, which outlives it: progress while it runs, then the proof that nothing is left."""

from __future__ import annotations

from django.db import models

from finops.lib import clock


class AccountDeletion(models.Model):
    """The deletion of one account, from its begin; stored for a year. Without a foreign key, since the account is deleted."""

    account_number = models.BigIntegerField(unique=True)
    name = models.CharField(max_length=100)
    actor_label = models.CharField("requested by", max_length=254, blank=True)
    started_at = models.DateTimeField(default=clock.now, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True)
    rows_total = models.BigIntegerField(default=0)
    rows_deleted = models.BigIntegerField(default=0)
    files_deleted = models.BigIntegerField(default=0)
    files_left = models.BigIntegerField(null=True, blank=True)
    rows_before: models.JSONField[dict[str, int], dict[str, int]] = models.JSONField(
        default=dict, help_text="Number of rows by table."
    )
    rows_left: models.JSONField[dict[str, int], dict[str, int]] = models.JSONField(
        default=dict, help_text="Number of deleted rows by table, after completion; empty tables are omitted."
    )

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def percent(self) -> int:
        return 100 if self.finished_at else min(99, self.rows_deleted * 100 // max(1, self.rows_total))
