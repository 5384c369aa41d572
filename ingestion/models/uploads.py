"""Backfill by file: uploads of usage, and their rejected lines."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.lib import clock
from ingestion.models.sources import UsageSource


class UsageUpload(AccountModel):
    """An upload of a CSV file of events into a source: its progress and result.

    The row is the queue. All events of a file are one batch; `rows` and the counts change in the transaction that
    stores a chunk of the file, so that another attempt continues exactly there.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        VOIDED = "voided", "Voided"
        CANCELED = "canceled", "Canceled"

    source = models.ForeignKey(UsageSource, on_delete=models.CASCADE, related_name="uploads")
    batch = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    file_name = models.CharField(max_length=255)
    path = models.CharField(max_length=400, help_text="Path of the file until it is processed.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file, in hex.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    bytes_total = models.BigIntegerField(default=0)
    bytes_done = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0, help_text="Processed lines with an event.")
    chunks = models.IntegerField(
        default=0, db_column="pieces", help_text="Transactions that stored a part of it."
    )
    accepted = models.BigIntegerField(default=0)
    duplicates = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    rounded = models.BigIntegerField(
        default=0, help_text="Accepted lines whose quantity was rounded to 12 decimal places."
    )
    reasons = models.JSONField(default=dict, help_text="Rejected lines by reason.")
    error = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    actor_label = models.CharField(max_length=254, blank=True)
    actor_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(
        null=True, blank=True, help_text="When a person canceled it; checked before each chunk."
    )

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["source", "-id"], name="usage_upload_newest"),
            models.Index(
                fields=["status"],
                name="usage_upload_due",
                condition=Q(status__in=["queued", "running"]),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "digest"],
                condition=~Q(status="voided"),
                name="usage_upload_file_once",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running", "done", "failed", "voided", "canceled"]),
                name="usage_upload_status_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.status})"

    @property
    def is_unfinished(self) -> bool:
        return self.status in (self.Status.QUEUED, self.Status.RUNNING)

    @property
    def stored_count(self) -> int:
        """Number of stored events."""
        return self.accepted - self.duplicates

    @property
    def percent(self) -> int:
        """Processed share of the file, 0 to 100."""
        if self.status == self.Status.DONE:
            return 100
        return min(100, self.bytes_done * 100 // self.bytes_total) if self.bytes_total else 0


class RejectedLine(AccountModel):
    """A rejected line of an uploaded file; the first ones of each upload."""

    upload = models.ForeignKey(UsageUpload, on_delete=models.CASCADE, related_name="rejected_lines")
    line = models.BigIntegerField(help_text="Line where it starts in the file; the header is line 1.")
    error = models.CharField(max_length=200)
    excerpt = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["line"]
        indexes = [models.Index(fields=["upload", "line"], name="rejected_line_of_upload")]

    def __str__(self) -> str:
        return f"{self.line}: {self.error}"
