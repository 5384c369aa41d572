"""Runs of this service's backups. They are not part of a backup, so a restore keeps those of its own server."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from finops.lib import clock


class BackupRun(models.Model):
    """One attempt at a backup. `bytes` is the size of all that the backup needs, `new_bytes` what the run added; both of
    the target's files, so compressed and encrypted."""

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule", "Schedule"
        COMMAND = "command", "Command"

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        INCOMPLETE = "incomplete", "Incomplete"
        FAILED = "failed", "Failed"

    started_at = models.DateTimeField(default=clock.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    trigger = models.CharField(max_length=10, choices=Trigger.choices)
    target = models.CharField(max_length=1_000, help_text="Without credentials.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RUNNING)
    backup_id = models.CharField(max_length=64, blank=True)
    bytes = models.BigIntegerField(null=True, blank=True)
    new_bytes = models.BigIntegerField(null=True, blank=True)
    missing_files = models.PositiveIntegerField(default=0, help_text="Missing or damaged files of the lake.")
    error = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-started_at", "-id"]
        indexes: ClassVar = [models.Index(fields=["-started_at"], name="backup_run_by_time")]

    def __str__(self) -> str:
        return self.backup_id or f"Backup run {self.pk}"
