"""Connections of sources, and their syncs and pushes. Sources with uploaded files only have no row here."""

from __future__ import annotations

import uuid
from datetime import date
from typing import Any, Final

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.scoping import AccountModel
from finops.change_events.models import EventSource
from finops.connections.connector import Contents
from finops.costs.models import CostSource
from finops.lib import clock
from ingestion.models import UsageSource

MIN_INTERVAL, MAX_INTERVAL, DEFAULT_INTERVAL = 15, 7 * 24 * 60, 60
"""Minutes between two checks for changes. A check of an unchanged source reads a listing and no data, so hourly
checks are cheap."""

INTERVALS: Final = [
    (15, "Every 15 minutes"),
    (60, "Every hour"),
    (360, "Every 6 hours"),
    (1_440, "Every day"),
    (10_080, "Every week"),
]
"""The choices of the schedule in the form of a connection."""

UNFINISHED_STATUSES: Final = ("queued", "running")


class CostConnection(AccountModel):
    """The connection of a source: connector, config, encrypted credentials, schedule and state.

    It fills one source: of cost, of usage, or of change events.
    """

    source = models.OneToOneField(
        "costs.CostSource", null=True, blank=True, on_delete=models.CASCADE, related_name="connection"
    )
    usage_source = models.OneToOneField(
        "ingestion.UsageSource", null=True, blank=True, on_delete=models.CASCADE, related_name="connection"
    )
    event_source = models.OneToOneField(
        "change_events.EventSource",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="connection",
    )
    connector = models.CharField(max_length=40, help_text="Module name in finops.connections.connectors.")
    config: models.JSONField[Any, dict[str, Any]] = models.JSONField(
        default=dict, blank=True, help_text="Fields without secrets."
    )
    credentials = models.TextField(blank=True, help_text="Secret fields, encrypted (finops.lib.sealing).")
    credentials_changed_at = models.DateTimeField(null=True, blank=True)
    external_id = models.CharField(
        max_length=64, help_text="Generated external ID for the trust policy of a role at the provider."
    )
    interval_minutes = models.PositiveIntegerField(
        default=DEFAULT_INTERVAL,
        validators=[MinValueValidator(MIN_INTERVAL), MaxValueValidator(MAX_INTERVAL)],
        help_text="Minutes between two checks for new data.",
    )
    first_month = models.DateField(
        null=True, blank=True, help_text="Oldest billing month to import; empty: all available months."
    )
    paused_at = models.DateTimeField(null=True, blank=True)
    next_sync_at = models.DateTimeField(default=clock.now)
    failures = models.PositiveIntegerField(default=0, help_text="Failed syncs since the last success.")
    failing_since = models.DateTimeField(null=True, blank=True)
    last_success_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["source__name"]
        indexes = [
            models.Index(
                fields=["next_sync_at"],
                name="cost_connection_due",
                condition=models.Q(paused_at__isnull=True),
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(interval_minutes__gte=MIN_INTERVAL, interval_minutes__lte=MAX_INTERVAL),
                name="cost_connection_interval_in_range",
                violation_error_message="Sync every 15 minutes at most, and once a week at least.",
            ),
            models.CheckConstraint(
                condition=models.Q(first_month__isnull=True) | models.Q(first_month__day=1),
                name="cost_connection_first_month_is_a_first_day",
            ),
            models.CheckConstraint(
                condition=models.Q(failures=0, failing_since__isnull=True)
                | models.Q(failures__gt=0, failing_since__isnull=False),
                name="cost_connection_fails_since_a_time",
            ),
            models.CheckConstraint(
                condition=models.Q(source__isnull=False, usage_source__isnull=True, event_source__isnull=True)
                | models.Q(source__isnull=True, usage_source__isnull=False, event_source__isnull=True)
                | models.Q(source__isnull=True, usage_source__isnull=True, event_source__isnull=False),
                name="cost_connection_of_one_source",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.connector} of {self.contents} source {self.target_id}"

    @property
    def credentials_purpose(self) -> str:
        """The purpose with which the secrets are sealed, so that the secrets of another row cannot be opened here."""
        return f"cost connection {self.connector} of account {self.account_id}"

    @property
    def contents(self) -> Contents:
        """The contents of its source."""
        if self.event_source_id is not None:
            return Contents.CHANGE_EVENTS
        return Contents.COST if self.usage_source_id is None else Contents.USAGE

    @property
    def target(self) -> CostSource | UsageSource | EventSource:
        """The source that it fills."""
        return self.event_source or self.usage_source or self.cost_source

    @property
    def cost_source(self) -> CostSource:
        """The cost source of the connection. Raises ValueError for a connection of usage or change events."""
        if self.source is None:
            raise ValueError(f"connection {self.pk} fills no cost source")
        return self.source

    @property
    def target_id(self) -> int:
        return self.target.pk


class CostSync(AccountModel):
    """One run of a connection, with the listed, skipped, read and replaced months. The row is the queue entry, as for imports."""

    class SyncStatus(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELED = "canceled", "Canceled"

    class SyncTrigger(models.TextChoices):
        SCHEDULE = "schedule", "Schedule"
        MANUAL = "manual", "Manual"

    connection = models.ForeignKey(CostConnection, on_delete=models.CASCADE, related_name="syncs")
    trigger = models.CharField(max_length=10, choices=SyncTrigger.choices, default=SyncTrigger.SCHEDULE)
    status = models.CharField(max_length=10, choices=SyncStatus.choices, default=SyncStatus.QUEUED)
    stage = models.CharField(max_length=100, blank=True, help_text='Progress, such as "reading 2026-05".')
    periods: models.JSONField[Any, list[dict[str, Any]]] = models.JSONField(
        default=list,
        blank=True,
        help_text="One finops.connections.schemas.PeriodResult per month, newest month first.",
    )
    months_listed = models.PositiveIntegerField(default=0)
    months_unchanged = models.PositiveIntegerField(default=0)
    months_imported = models.PositiveIntegerField(default=0)
    """Imported months with rows. Months without any row are `emptied` in `periods`."""
    months_failed = models.PositiveIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    bytes_total = models.BigIntegerField(
        default=0, help_text="Bytes of the months to read, as listed; 0 if unknown."
    )
    bytes_done = models.BigIntegerField(default=0)
    error = models.TextField(blank=True, help_text="First error and how to fix it.")
    attempts = models.PositiveSmallIntegerField(default=0)
    actor_label = models.CharField(max_length=254, blank=True)
    actor_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["connection", "-id"], name="cost_sync_newest"),
            models.Index(
                fields=["id"], name="cost_sync_due", condition=models.Q(status__in=UNFINISHED_STATUSES)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["connection"],
                condition=models.Q(status__in=UNFINISHED_STATUSES),
                name="cost_sync_one_at_a_time",
                violation_error_message="A sync of this source is queued or running already.",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=["queued", "running", "done", "failed", "canceled"]),
                name="cost_sync_status_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(trigger__in=["schedule", "manual"]), name="cost_sync_trigger_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"sync {self.pk} ({self.status})"


class SyncPeriod(AccountModel):
    """The last import of a billing month through a connection. A month with an unchanged fingerprint is skipped."""

    connection = models.ForeignKey(CostConnection, on_delete=models.CASCADE, related_name="periods")
    month = models.DateField()
    fingerprint = models.CharField(max_length=128)
    bytes = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    cost_import = models.ForeignKey(
        "costs.CostImport", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    synced_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ["-month"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "month"], name="sync_period_unique"),
            models.CheckConstraint(condition=models.Q(month__day=1), name="sync_period_is_a_first_day"),
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"

    @property
    def name(self) -> str:
        return month_name(self.month)


class ConnectionPageCache(AccountModel):
    """Cached pages of the provider's lists (`transports.page_cache`). Without the row all pages are read again."""

    connection = models.OneToOneField(CostConnection, on_delete=models.CASCADE, related_name="page_cache")
    content = models.BinaryField()
    updated_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return f"pages of connection {self.connection_id}"


def month_name(month: date) -> str:
    return f"{month:%Y-%m}"


class CostKey(AccountModel):
    """The key of a cost source that programs push FOCUS rows to. Only a hash is stored; a source has at most one valid key."""

    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="keys")
    lookup = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by_label = models.CharField(max_length=254, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["source"],
                condition=models.Q(revoked_at__isnull=True),
                name="cost_key_one_living_key_a_source",
                violation_error_message="The source has a key already; regenerate it instead.",
            )
        ]

    def __str__(self) -> str:
        return self.masked_key

    @property
    def masked_key(self) -> str:
        """The part of the key that may be shown later: prefix, lookup part, dots."""
        return f"fcst_{self.lookup}{'•' * 8}"


class CostPush(AccountModel):
    """A billing month that a program pushes in parts: open until its commit, then a queue entry."""

    class PushStatus(models.TextChoices):
        OPEN = "open", "Open"
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELED = "canceled", "Canceled"
        EXPIRED = "expired", "Expired"

    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="pushes")
    public_id = models.UUIDField(
        default=uuid.uuid4, unique=True, editable=False, help_text="Public ID of the push."
    )
    month = models.DateField(help_text="The first day of the billing month.")
    status = models.CharField(max_length=10, choices=PushStatus.choices, default=PushStatus.OPEN)
    committed_parts = models.PositiveIntegerField(
        null=True, blank=True, help_text="Number of parts named in the commit."
    )
    rows = models.BigIntegerField(null=True, blank=True, help_text="Imported rows, after completion.")
    totals: models.JSONField[Any, list[dict[str, Any]]] = models.JSONField(
        default=list, blank=True, help_text="One finops.connections.schemas.PushTotal per currency."
    )
    cost_import = models.ForeignKey(
        "costs.CostImport", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    error = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    actor_label = models.CharField(max_length=254)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField(help_text="Expiry of an open push.")
    committed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Import order of the pushes of a source: the last push of a month wins.",
    )
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "cost pushes"
        indexes = [
            models.Index(fields=["source", "-id"], name="cost_push_newest"),
            models.Index(
                fields=["committed_at", "id"],
                name="cost_push_due",
                condition=models.Q(status__in=UNFINISHED_STATUSES),
            ),
            models.Index(fields=["expires_at"], name="cost_push_expiring", condition=models.Q(status="open")),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(month__day=1), name="cost_push_month_is_a_first_day"),
            models.CheckConstraint(
                condition=models.Q(
                    status__in=["open", "queued", "running", "done", "failed", "canceled", "expired"]
                ),
                name="cost_push_status_is_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(status__in=["queued", "running", "done"])
                | models.Q(committed_parts__isnull=False, committed_at__isnull=False),
                name="cost_push_is_committed",
            ),
        ]

    def __str__(self) -> str:
        return f"push of {self.month:%Y-%m} ({self.status})"


class CostPushPart(AccountModel):
    """One file of a push. A part that is sent again replaces the one with the same number."""

    push = models.ForeignKey(CostPush, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    format = models.CharField(max_length=20, help_text="finops.connections.push_files.PartFormat.")
    bytes = models.BigIntegerField()
    content_hash = models.CharField(
        max_length=32,
        blank=True,
        help_text="Digest of the content; two parts with the same digest are an error.",
    )
    file_name = models.CharField(max_length=80, help_text="File name in the folder of the push.")
    received_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["push", "number"], name="cost_push_part_unique"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="cost_push_part_from_one"),
        ]

    def __str__(self) -> str:
        return f"part {self.number}"
