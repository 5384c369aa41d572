"""Data exports of an account, their runs, and the months in each bucket."""

from __future__ import annotations

import uuid
from datetime import date
from typing import Any, Final

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import unique_in_account

UNFINISHED_STATUSES: Final = ("queued", "running")
NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""The pattern of a name, which is a folder in the bucket."""


class DataExport(AccountModel):
    """A bucket and a folder in it that contain the account's cost by billing month. Its name is the folder's."""

    class Schedule(models.TextChoices):
        DAILY = "daily", "Every day"
        HOURLY = "hourly", "Every hour"
        AFTER_IMPORTS = "after_imports", "After imports"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(
        max_length=60,
        validators=[RegexValidator(NAME_PATTERN, "Use letters, digits, dots, underscores and dashes.")],
        error_messages={"blank": "Enter a name."},
    )
    destination = models.CharField(
        max_length=40, help_text="Module name in finops.data_exports.destinations."
    )
    config: models.JSONField[Any, dict[str, Any]] = models.JSONField(
        default=dict, blank=True, help_text="Fields without secrets."
    )
    credentials = models.TextField(blank=True, help_text="Secret fields, encrypted (finops.lib.sealing).")
    credentials_changed_at = models.DateTimeField(null=True, blank=True)
    external_id = models.CharField(
        max_length=64, help_text="Generated external ID for the trust policy of a role at the provider."
    )
    excluded_columns: models.JSONField[Any, list[str]] = models.JSONField(
        default=list, blank=True, help_text="Excluded columns."
    )
    with_splits = models.BooleanField("shared-cost splits", default=True)
    schedule = models.CharField(max_length=16, choices=Schedule.choices, default=Schedule.DAILY)
    paused_at = models.DateTimeField(null=True, blank=True)
    next_run_at = models.DateTimeField(default=clock.now)
    failures = models.PositiveIntegerField(default=0, help_text="Failed runs since the last success.")
    failing_since = models.DateTimeField(null=True, blank=True)
    last_success_at = models.DateTimeField(null=True, blank=True)
    changes_seen_at = models.DateTimeField(
        null=True, blank=True, help_text="Cost stored after this time is in no successful run."
    )
    removal_requested_at = models.DateTimeField(
        null=True, blank=True, help_text="The next run deletes the files, then this row."
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        indexes = [
            models.Index(fields=["next_run_at"], name="data_export_due", condition=Q(paused_at__isnull=True))
        ]
        constraints = [
            unique_in_account(
                "name",
                name="data_export_name_unique",
                message="A data export with this name already exists.",
            ),
            models.CheckConstraint(
                condition=Q(name__regex=NAME_PATTERN),
                name="data_export_name_is_a_folder",
                violation_error_message="Use letters, digits, dots, underscores and dashes.",
            ),
            models.CheckConstraint(
                condition=Q(schedule__in=["daily", "hourly", "after_imports"]),
                name="data_export_schedule_is_known",
            ),
            models.CheckConstraint(
                condition=Q(failures=0, failing_since__isnull=True)
                | Q(failures__gt=0, failing_since__isnull=False),
                name="data_export_fails_since_a_time",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def credentials_purpose(self) -> str:
        """What its secrets are sealed for, so that no other row's fit."""
        return f"data export {self.destination} of account {self.account_id}"


class DataExportRun(AccountModel):
    """One run of a data export: the months that it listed, skipped, wrote and removed; the row is the queue."""

    class RunStatus(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELED = "canceled", "Canceled"

    class RunTrigger(models.TextChoices):
        SCHEDULE = "schedule", "Schedule"
        MANUAL = "manual", "Manual"

    export = models.ForeignKey(DataExport, on_delete=models.CASCADE, related_name="runs")
    execution_id = models.UUIDField(
        default=uuid.uuid4,
        unique=True,
        editable=False,
        help_text="Prefix of its file names, new for each attempt.",
    )
    trigger = models.CharField(max_length=10, choices=RunTrigger.choices, default=RunTrigger.SCHEDULE)
    status = models.CharField(max_length=10, choices=RunStatus.choices, default=RunStatus.QUEUED)
    stage = models.CharField(max_length=100, blank=True, help_text='Progress, such as "writing 2026-05".')
    months: models.JSONField[Any, list[dict[str, Any]]] = models.JSONField(
        default=list, blank=True, help_text="One finops.data_exports.schemas.MonthResult per month."
    )
    months_listed = models.PositiveIntegerField(default=0)
    months_unchanged = models.PositiveIntegerField(default=0)
    months_written = models.PositiveIntegerField(default=0)
    months_replaced = models.PositiveIntegerField(default=0)
    months_removed = models.PositiveIntegerField(default=0)
    months_failed = models.PositiveIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    error = models.TextField(blank=True, help_text="First error and how to fix it.")
    attempts = models.PositiveSmallIntegerField(default=0)
    actor_label = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["export", "-id"], name="data_export_run_newest"),
            models.Index(
                fields=["id"], name="data_export_run_due", condition=Q(status__in=UNFINISHED_STATUSES)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["export"],
                condition=Q(status__in=UNFINISHED_STATUSES),
                name="data_export_one_run_at_a_time",
                violation_error_message="A run of this data export is queued or running already.",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running", "done", "failed", "canceled"]),
                name="data_export_run_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(trigger__in=["schedule", "manual"]), name="data_export_run_trigger_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} ({self.status})"

    @property
    def is_unfinished(self) -> bool:
        return self.status in UNFINISHED_STATUSES

    @property
    def months_text(self) -> str:
        """A summary of the months: "2 replaced, 12 unchanged"."""
        names = ("written", "replaced", "removed", "failed", "unchanged")
        counts = {name: getattr(self, f"months_{name}") for name in names}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "None"

    @property
    def seconds(self) -> float | None:
        """Its duration; None while it is unfinished."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class DataExportMonth(AccountModel):
    """A month as it is in the bucket: a month with the same fingerprint is not written again."""

    class Dataset(models.TextChoices):
        COST = "cost", "Cost"
        SPLITS = "splits", "Shared-cost splits"

    export = models.ForeignKey(DataExport, on_delete=models.CASCADE, related_name="months")
    dataset = models.CharField(max_length=8, choices=Dataset.choices, default=Dataset.COST)
    month = models.DateField(help_text="Billing month of cost, or month of the charge for splits.")
    fingerprint = models.CharField(max_length=64)
    files: models.JSONField[Any, list[dict[str, Any]]] = models.JSONField(
        default=list, help_text="Key below the prefix, rows and bytes of each file, manifest last."
    )
    rows = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    written_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ["-month", "dataset"]
        constraints = [
            models.UniqueConstraint(fields=["export", "dataset", "month"], name="data_export_month_unique"),
            models.CheckConstraint(
                condition=Q(dataset__in=["cost", "splits"]), name="data_export_month_dataset_is_known"
            ),
            models.CheckConstraint(condition=Q(month__day=1), name="data_export_month_is_a_first_day"),
        ]

    def __str__(self) -> str:
        return f"{self.dataset} {self.month:%Y-%m}"

    @property
    def name(self) -> str:
        return month_name(self.month)


def month_name(month: date) -> str:
    return f"{month:%Y-%m}"
