"""The manifest: the immutable files that hold an account's facts, and which of them are current."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q

from accounts.scoping import AccountModel
from finops.lake import schema
from finops.lib import clock


class LakeSegment(AccountModel):
    """One immutable Parquet file. It is current from the commit of its row until `retired_at`; the file stays an hour
    longer.

    `source_id` is a cost source or usage source (the lake imports neither). `month` is the billing month of cost and the
    month of the events of usage; date ranges are compared with `first_day` and `last_day`. Corrections of a month that
    another month's file contains are stored beside the month's own segment, with `carried_by` (ADR 0020).
    """

    KINDS: ClassVar[list[tuple[str, str]]] = [(kind.value, kind.value) for kind in schema.Kind]

    kind = models.CharField(max_length=8, choices=KINDS)
    source_id = models.BigIntegerField()
    month = models.DateField(help_text="First day of the month.")
    carried_by = models.DateField(
        null=True,
        blank=True,
        help_text="Corrections of `month` imported with this month's file: its first day. Empty: the month's own lines.",
    )
    path = models.CharField(max_length=200, help_text="Path below LAKE_URL; unguessable and never reused.")
    columns: models.JSONField[list[str], list[str]] = models.JSONField(
        help_text="Column names, base columns first."
    )
    rows = models.BigIntegerField()
    bytes = models.BigIntegerField()
    first_day = models.DateField()
    last_day = models.DateField()
    checksum = models.CharField(max_length=64, help_text="SHA-256 of the file, in hex.")
    magnitudes: models.JSONField[dict[str, int] | None, dict[str, int] | None] = models.JSONField(
        null=True,
        blank=True,
        help_text="Integer digits of the largest value of each amount column; empty: unknown.",
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    retired_at = models.DateTimeField(null=True, blank=True)
    summarised_at = models.DateTimeField(
        null=True, blank=True, help_text="When rollups were created, or found not to be worthwhile."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["path"], name="lake_segment_path_unique"),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in schema.Kind]), name="lake_segment_kind_known"
            ),
            models.CheckConstraint(condition=Q(month__day=1), name="lake_segment_month_is_a_first_day"),
            models.CheckConstraint(
                condition=Q(carried_by__isnull=True) | Q(carried_by__day=1, kind="cost"),
                name="lake_segment_carried_by_a_first_day",
            ),
            models.CheckConstraint(condition=Q(rows__gt=0, bytes__gt=0), name="lake_segment_not_empty"),
            models.CheckConstraint(
                condition=Q(first_day__lte=F("last_day")), name="lake_segment_days_in_order"
            ),
        ]
        indexes = [
            # For every lake query: the account's live segments that overlap its dates.
            models.Index(
                fields=["account", "kind", "last_day", "first_day"],
                condition=Q(retired_at__isnull=True),
                name="lake_segment_live_days",
            ),
            # For every swap: the live segments of a source and month.
            models.Index(
                fields=["account", "kind", "source_id", "month"],
                condition=Q(retired_at__isnull=True),
                name="lake_segment_live_months",
            ),
            # For the sweep: files retired for an hour.
            models.Index(
                fields=["retired_at"], condition=Q(retired_at__isnull=False), name="lake_segment_retired"
            ),
            # Segments without rollups.
            models.Index(
                fields=["account"],
                condition=Q(kind="cost", retired_at__isnull=True, summarised_at__isnull=True),
                name="lake_segment_to_summarise",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.month:%Y-%m} of source {self.source_id}, {self.rows} rows"

    @property
    def key_columns(self) -> dict[str, str]:
        """Tag keys (cost) or dimension keys (usage) of this file, and the column that holds each."""
        is_cost = self.kind == schema.Kind.COST
        key_of: Any = schema.tag_key if is_cost else schema.dimension_key
        prefix = schema.TAG_PREFIX if is_cost else schema.DIMENSION_PREFIX
        return {key_of(column): column for column in self.columns if column.startswith(prefix)}


class LakeRollup(AccountModel):
    """An aggregate of a segment of cost: lines that are equal in every remaining column are added up.

    Another, smaller file for queries that need none of the dropped columns; it is created and removed with its segment, and
    a query has the same answer over either (ADR 0015).
    """

    segment = models.ForeignKey(LakeSegment, on_delete=models.CASCADE, related_name="rollups")
    path = models.CharField(max_length=200, unique=True, help_text="Path below LAKE_URL; never reused.")
    without: models.JSONField[list[str], list[str]] = models.JSONField(
        help_text="Columns of the segment that the rollup does not have."
    )
    rows = models.BigIntegerField()
    bytes = models.BigIntegerField()
    checksum = models.CharField(max_length=64, help_text="SHA-256 of the file, in hex.")

    class Meta:
        db_table = "lake_lakesummary"
        constraints = [
            models.CheckConstraint(condition=Q(rows__gt=0, bytes__gt=0), name="lake_summary_not_empty")
        ]

    def __str__(self) -> str:
        return f"{self.rows} rows of segment {self.segment_id}"


class UsageFlushTrouble(AccountModel):
    """The state of an account's failing flushes: since when, why, and the time of the next retry. Deleted by the first
    success."""

    account = models.OneToOneField(
        "accounts.Account", on_delete=models.CASCADE, related_name="usage_flush_trouble"
    )
    since = models.DateTimeField(default=clock.now)
    attempts = models.PositiveIntegerField(default=1)
    error = models.CharField(max_length=500)
    retry_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.error
