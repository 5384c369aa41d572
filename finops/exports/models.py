"""Exports of whole accounts."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock


class AccountExport(AccountModel):
    """A ZIP of an account's cost, usage and configuration, written by a worker; the row is the queue."""

    class ExportStatus(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELED = "canceled", "Canceled"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    status = models.CharField(max_length=10, choices=ExportStatus.choices, default=ExportStatus.QUEUED)
    actor_label = models.CharField("requested by", max_length=254, blank=True)
    files_total = models.PositiveIntegerField(default=0)
    files_done = models.PositiveIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"Export of {self.created_at:%Y-%m-%d}"

    @property
    def is_unfinished(self) -> bool:
        return self.status in (self.ExportStatus.QUEUED, self.ExportStatus.RUNNING)

    @property
    def percent(self) -> int:
        return self.files_done * 100 // max(1, self.files_total)
