"""The ledger of batches, which is the meter, and the records that make retries safe."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q

from accounts.scoping import AccountModel
from finops.lib import clock
from ingestion.models.sources import UsageSource


class UsageBatch(AccountModel):
    """One push, upload or pulled day, written in the transaction that stores its events. The sum of `stored` is the
    meter.

    Batches stay after their source is deleted, as metered events stay metered.
    """

    class Origin(models.TextChoices):
        PUSH = "push", "Push"
        UPLOAD = "upload", "Upload"
        PULL = "pull", "Pull"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    source = models.ForeignKey(
        UsageSource, null=True, blank=True, on_delete=models.SET_NULL, related_name="batches"
    )
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.PUSH)
    received_at = models.DateTimeField(default=clock.now, editable=False)
    accepted = models.IntegerField()
    rejected = models.IntegerField()
    duplicates = models.IntegerField(default=0, help_text="Accepted events that an earlier batch had stored.")
    first_day = models.DateField(null=True, blank=True, help_text="First day of its events.")
    last_day = models.DateField(null=True, blank=True)
    unlikely_times = models.IntegerField(
        default=0, db_default=0, help_text="Events before 2000 or more than a day after their receipt."
    )
    ignored_fields = models.JSONField(
        null=True, blank=True, help_text="Fields of its events that are not stored, with their number."
    )
    void_asked_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Voiding in progress; counted until then."
    )
    voided_at = models.DateTimeField(null=True, blank=True, editable=False)
    voided_by_label = models.CharField(max_length=254, blank=True, editable=False)

    class Meta:
        ordering = ["-received_at", "-id"]
        verbose_name = "usage batch"
        verbose_name_plural = "usage batches"
        indexes = [
            models.Index(fields=["account", "-received_at"], name="usage_batch_newest"),
            models.Index(fields=["source", "-received_at"], name="usage_batch_of_source"),
            models.Index(
                fields=["source", "-received_at"],
                name="usage_batch_with_remarks",
                condition=Q(unlikely_times__gt=0) | Q(ignored_fields__isnull=False),
            ),
            models.Index(
                fields=["account"],
                name="usage_batch_void_asked",
                condition=Q(void_asked_at__isnull=False, voided_at__isnull=True),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(origin__in=["push", "upload", "pull"]), name="usage_batch_origin_is_known"
            ),
            models.CheckConstraint(
                condition=Q(
                    accepted__gte=0, rejected__gte=0, duplicates__gte=0, duplicates__lte=F("accepted")
                ),
                name="usage_batch_counts_make_sense",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_being_voided(self) -> bool:
        return self.void_asked_at is not None and self.voided_at is None

    @property
    def stored_count(self) -> int:
        """Number of stored and metered events of this batch; 0 if it is voided."""
        return 0 if self.voided_at else self.accepted - self.duplicates


class UsageDay(AccountModel):
    """The last pull of a UTC day. Another pull replaces its batch, or does nothing if nothing changed."""

    source = models.ForeignKey(UsageSource, on_delete=models.CASCADE, related_name="usage_days")
    day = models.DateField()
    batch = models.UUIDField(help_text="Batch ID of its events in the ledger and the lake.")
    digest = models.CharField(max_length=64, help_text="Digest of its lines, in any order.")
    events = models.IntegerField(help_text="Stored events.")
    received_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-day"]
        constraints = [
            models.UniqueConstraint(fields=["source", "day"], name="usage_day_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.events}"


class UsageMeter(AccountModel):
    """Metered events by month of receipt of batches that were removed from the ledger. Moved in one transaction."""

    month = models.DateField(help_text="The first day of the month.")
    events = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "month"], name="usage_meter_month_unique"),
            models.CheckConstraint(condition=Q(month__day=1), name="usage_meter_month_is_a_first_day"),
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}: {self.events}"


class RejectedEvent(AccountModel):
    """One of the newest rejected events of a source, for debugging."""

    source = models.ForeignKey(UsageSource, on_delete=models.CASCADE, related_name="rejected_events")
    batch = models.UUIDField()
    position = models.IntegerField()
    error = models.CharField(max_length=200)
    excerpt = models.CharField(max_length=500, help_text="Start of the event as received.")
    received_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-received_at", "position"]
        indexes = [models.Index(fields=["source", "-received_at"], name="rejected_event_of_source")]

    def __str__(self) -> str:
        return f"{self.position}: {self.error}"


class PushAnswer(AccountModel):
    """The response to a push, or to a write tool over REST, with an Idempotency-Key, repeated for 24 hours."""

    key = models.CharField(max_length=255)
    body_digest = models.BinaryField(max_length=32, editable=False)
    status = models.SmallIntegerField(default=200)
    answer = models.BinaryField(editable=False)
    headers = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="push_answer_by_age")]
        constraints = [models.UniqueConstraint(fields=["account", "key"], name="push_answer_key_unique")]

    def __str__(self) -> str:
        return self.key


class UsageRetention(AccountModel):
    """How long raw usage is kept. An account without a row keeps it forever."""

    account = models.OneToOneField(
        "accounts.Account", on_delete=models.CASCADE, related_name="usage_retention"
    )
    months = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Empty: forever.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(months__isnull=True) | Q(months__gte=1, months__lte=240),
                name="usage_retention_is_1_to_240_months",
                violation_error_message="Keep usage for 1 to 240 months, or forever.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.months} months" if self.months else "forever"
