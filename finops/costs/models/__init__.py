"""Cost sources, imports and the account's cost view. The cost lines are in the lake."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.scoping import AccountModel
from finops.costs.completeness import MAX_SETTLE_DAYS
from finops.costs.focus.values import DateOrder, NumberFormat
from finops.costs.models.closed_months import ClosedMonth, ClosedMonthSum
from finops.costs.models.column_mappings import ColumnMapping
from finops.costs.models.invoices import BillingPeriod, InvoiceDetail, InvoiceTotal
from finops.costs.models.saved_views import SavedView
from finops.lib import clock
from finops.lib.constraints import not_empty

__all__ = [
    "DEFAULT_ACTOR_TAG_KEYS",
    "Basis",
    "BillingPeriod",
    "ClosedMonth",
    "ClosedMonthSum",
    "ColumnMapping",
    "ContractCommitment",
    "CostImport",
    "CostSource",
    "CostView",
    "DailyCostSnapshot",
    "ImportReviewSettings",
    "InvoiceDetail",
    "InvoiceTotal",
    "SavedView",
    "SourceCompleteness",
    "SourceOverlap",
    "default_actor_tag_keys",
]

DEFAULT_ACTOR_TAG_KEYS = ("aws:createdBy", "Oracle-Tags.CreatedBy", "createdBy", "owner")


def default_actor_tag_keys() -> list[str]:
    return list(DEFAULT_ACTOR_TAG_KEYS)


class Basis(models.TextChoices):
    """The amount of a cost line that counts: the invoiced amount, or the value of the usage."""

    BILLED = "billed", "Billed"
    AMORTIZED = "amortized", "Amortized"


class CostSource(AccountModel):
    """A source of cost lines. Its months are replaced as a whole."""

    class Kind(models.TextChoices):
        FOCUS = "focus", "FOCUS files"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.FOCUS)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    settle_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MaxValueValidator(MAX_SETTLE_DAYS)],
        help_text="Days until a day's cost is complete, if set; otherwise detected from imports.",
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "name"],
                name="cost_source_name_unique",
                violation_error_message="A cost source with this name already exists.",
            ),
            not_empty("name", name="cost_source_has_a_name", message="Enter a name."),
            models.CheckConstraint(condition=models.Q(kind__in=["focus"]), name="cost_source_kind_is_known"),
            models.CheckConstraint(
                condition=models.Q(settle_days__isnull=True) | models.Q(settle_days__lte=MAX_SETTLE_DAYS),
                name="cost_source_settles_in_days",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SourceCompleteness(AccountModel):
    """The completeness of a source's days, from its newest imports (finops.costs.completeness)."""

    source = models.OneToOneField(CostSource, on_delete=models.CASCADE, related_name="completeness")
    segments = models.CharField(max_length=64, help_text="Digest of the live segments that were read.")
    seen_on = models.DateField(help_text="Day of the newest import with the newest days.")
    provider = models.CharField(max_length=200, blank=True, help_text="Provider with the most cost.")
    usage_through = models.DateField(null=True, blank=True, help_text="Newest day with daily usage.")
    billed_through = models.DateField(
        null=True, blank=True, help_text="Last day of charges that are billed monthly."
    )
    learnt_days = models.PositiveSmallIntegerField(null=True, blank=True)
    partial_days = ArrayField(models.DateField(), default=list, blank=True)

    class Meta:
        verbose_name_plural = "source completeness"

    def __str__(self) -> str:
        return f"source {self.source_id} as of {self.seen_on}"


class DailyCostSnapshot(AccountModel):
    """The daily cost of a source's day as of an import; settle times are learnt from these."""

    source = models.ForeignKey(CostSource, on_delete=models.CASCADE, related_name="daily_costs")
    day = models.DateField()
    age = models.PositiveSmallIntegerField(help_text="Days between the day and its import.")
    currency = models.CharField(max_length=60)
    amount = models.DecimalField(max_digits=38, decimal_places=18)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source", "day", "currency", "age"], name="daily_cost_snapshot_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} after {self.age} days"


class CostImport(AccountModel):
    """An import of one or several files into a source: its parameters, progress and result.

    The row is the queue: `queued` imports are due, and a `running` one with an old heartbeat is resumed. A `waiting`
    import needs a decision and keeps its files; then it is queued again and its files are read anew (ADR 0020).
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        WAITING = "waiting", "Needs review"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        DISCARDED = "discarded", "Discarded"
        CANCELED = "canceled", "Canceled"

    class Origin(models.TextChoices):
        """The origin of an import, which decides whether a person can review it."""

        UPLOAD = "upload", "Upload"
        COMMAND = "command", "Command"
        SYNC = "sync", "Sync"

    source = models.ForeignKey(CostSource, on_delete=models.CASCADE, related_name="imports")
    file_name = models.CharField(max_length=255, help_text="File names as uploaded, separated by commas.")
    files = models.JSONField(
        default=list, help_text="One entry per file: name, path, bytes, and whether the import deletes it."
    )
    defaults = models.JSONField(default=dict, help_text="Values for columns that are missing in the files.")
    number_format = models.CharField(
        max_length=10,
        choices=[(NumberFormat.POINT.value, "1,234.56"), (NumberFormat.COMMA.value, "1.234,56")],
        blank=True,
        help_text="Number format of all files; empty: detected per file.",
    )
    date_order = models.CharField(
        max_length=12,
        choices=[
            (DateOrder.MONTH_FIRST.value, "month/day/year"),
            (DateOrder.DAY_FIRST.value, "day/month/year"),
        ],
        blank=True,
        help_text="Order of dates such as 05/09/2026 in all files; empty: detected per file.",
    )
    actor_label = models.CharField(max_length=254, blank=True)
    actor_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    content_hashes = ArrayField(
        models.CharField(max_length=64, blank=True),
        default=list,
        blank=True,
        help_text="XXH3 (128 bits) of each file's uncompressed content, after reading.",
    )
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.UPLOAD)
    decision = models.JSONField(
        default=dict,
        blank=True,
        help_text="finops.costs.import_plan.Decision; empty before a person decides.",
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    stage = models.CharField(max_length=60, blank=True)
    bytes_total = models.BigIntegerField(default=0)
    bytes_done = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    months = models.JSONField(default=list, help_text="Replaced billing months, such as 2026-05.")
    report = models.JSONField(default=dict, help_text="finops.costs.focus.report.ImportReport.")
    error = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When a person canceled it; checked between two batches.",
    )
    overlaps_looked_for_at = models.DateTimeField(
        null=True, blank=True, help_text="When its months were compared with other sources."
    )
    parts: models.JSONField[Any, Any] = models.JSONField(
        null=True,
        blank=True,
        help_text="Parts of a large running import: finops.costs.services.import_parts.PartPlan.",
    )

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["account", "-id"], name="cost_import_newest"),
            models.Index(
                fields=["status", "heartbeat_at"],
                name="cost_import_due",
                condition=models.Q(status__in=["queued", "running"]),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    status__in=["queued", "running", "waiting", "done", "failed", "discarded", "canceled"]
                ),
                name="cost_import_status_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(origin__in=["upload", "command", "sync"]),
                name="cost_import_origin_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.status})"

    @property
    def percent(self) -> int:
        """The share of the files that has been read, 0 to 100."""
        if self.status == self.Status.DONE:
            return 100
        return min(100, self.bytes_done * 100 // self.bytes_total) if self.bytes_total else 0


class CostView(AccountModel):
    """The account's default view of cost. An account without a row has the defaults."""

    account = models.OneToOneField("accounts.Account", on_delete=models.CASCADE, related_name="cost_view")
    basis = models.CharField(max_length=10, choices=Basis.choices, default=Basis.BILLED)
    planning_basis = models.CharField(
        max_length=10,
        choices=Basis.choices,
        default=Basis.AMORTIZED,
        help_text="Basis of unit cost, budgets and forecasts.",
    )
    charge_categories = ArrayField(
        models.CharField(max_length=60),
        default=list,
        blank=True,
        help_text="Included charge categories; empty: all.",
    )
    actor_tag_keys = ArrayField(
        models.CharField(max_length=256),
        default=default_actor_tag_keys,
        blank=True,
        help_text="Tag keys that name the creator of a resource, the first one present wins. Applied during imports.",
    )
    product_key = models.CharField(max_length=256, blank=True, help_text="Tag key of the product dimension.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(basis__in=Basis.values), name="cost_view_basis_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(planning_basis__in=Basis.values), name="cost_view_planning_basis_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account_id}: {self.basis}"


class SourceOverlap(AccountModel):
    """Cost of a billing month that two sources likely both hold, so that it counts twice. Detected after each import
    into one of them; `source` is the one with the smaller id."""

    class Kind(models.TextChoices):
        LINES = "lines", "Lines"
        NODES = "nodes", "Cluster nodes"

    source = models.ForeignKey(CostSource, on_delete=models.CASCADE, related_name="+")
    other = models.ForeignKey(CostSource, on_delete=models.CASCADE, related_name="+")
    month = models.DateField()
    currency = models.CharField(max_length=60)
    amount = models.DecimalField(max_digits=38, decimal_places=18, help_text="Billed cost in both sources.")
    share = models.DecimalField(
        max_digits=7,
        decimal_places=6,
        help_text="Share of the smaller source's billed cost of the month; for nodes, of the cost that OpenCost allocates.",
    )
    kind = models.CharField(
        max_length=10,
        choices=Kind.choices,
        default=Kind.LINES,
        help_text="Whether both have the same lines, or one allocates the cost of nodes that the other bills.",
    )
    dismissed_at = models.DateTimeField(null=True, blank=True, help_text="When the overlap was dismissed.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source", "other", "month", "currency"], name="source_overlap_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(source__lt=models.F("other")), name="source_overlap_in_order"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=["lines", "nodes"]), name="source_overlap_kind_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} of {self.month:%Y-%m}"


class ImportReviewSettings(AccountModel):
    """The changes from which an import needs review. An account without a row has the defaults."""

    account = models.OneToOneField(
        "accounts.Account", on_delete=models.CASCADE, related_name="import_review_settings"
    )
    fall_percent = models.PositiveSmallIntegerField(
        default=20,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Imports that reduce a billing month's cost by more than this need review.",
    )
    growth_percent = models.PositiveIntegerField(
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(100_000)],
        help_text="Imports that increase a billing month's cost by more than this need review.",
    )
    least_amount = models.DecimalField(
        max_digits=20,
        decimal_places=2,
        default=10,
        validators=[MinValueValidator(0)],
        help_text="Smaller changes need no review, in whole units of the bill's currency.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    fall_percent__gte=1, fall_percent__lte=100, growth_percent__gte=1, least_amount__gte=0
                ),
                name="import_review_settings_in_range",
            )
        ]

    def __str__(self) -> str:
        return f"-{self.fall_percent} %, +{self.growth_percent} %"


class ContractCommitment(AccountModel):
    """A row of a FOCUS Contract Commitment file; a source's rows are replaced as a whole."""

    source = models.ForeignKey(CostSource, on_delete=models.CASCADE, related_name="contract_commitments")
    commitment_id = models.CharField(max_length=500)
    commitment_type = models.CharField(max_length=200, blank=True)
    category = models.CharField(max_length=60, blank=True)
    description = models.TextField(blank=True)
    cost = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    quantity = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    unit = models.CharField(max_length=200, blank=True)
    period_start = models.DateTimeField()
    period_end = models.DateTimeField()
    contract_id = models.CharField(max_length=500, blank=True)
    contract_start = models.DateTimeField(null=True, blank=True)
    contract_end = models.DateTimeField(null=True, blank=True)
    currency = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["period_start", "commitment_id"]
        indexes = [models.Index(fields=["account", "commitment_id"], name="contract_commitment_by_id")]

    def __str__(self) -> str:
        return self.commitment_id
