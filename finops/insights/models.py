"""Anomalies and savings in the database, with the decisions of people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock

SERVICE = "service"


class Severity(models.TextChoices):
    HIGH = "high", "High"
    MEDIUM = "medium", "Medium"
    LOW = "low", "Low"


class Incident(AccountModel):
    """Anomalies with the same cost on the same days, as one: listed, reviewed and counted once.

    A detection updates members and amounts; `state` is set by people, except for incidents that a restated bill
    removed and those that continued after they were resolved. Amounts as of `Anomaly`, of the counted members: the
    headline alone, or several services with one root cause, which share no lines.
    """

    class State(models.TextChoices):
        OPEN = "open", "Open"
        EXPECTED = "expected", "Expected"
        RESOLVED = "resolved", "Resolved"

    key = models.CharField(max_length=24, help_text="Public ID: key of the first headline anomaly.")
    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="+")
    headline = models.ForeignKey(
        "insights.Anomaly",
        on_delete=models.CASCADE,
        related_name="+",
        help_text="The most specific member that explains at least 80% of the impact.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    severity = models.CharField(max_length=10, choices=Severity.choices)
    currency = models.CharField(max_length=60)
    first_day = models.DateField()
    last_day = models.DateField()
    ongoing = models.BooleanField(default=False)
    actual = models.DecimalField(max_digits=38, decimal_places=18)
    expected = models.DecimalField(max_digits=38, decimal_places=18)
    expected_low = models.DecimalField(max_digits=38, decimal_places=18)
    expected_high = models.DecimalField(max_digits=38, decimal_places=18)
    impact = models.DecimalField(max_digits=38, decimal_places=18, help_text="actual - expected, so far")
    month_end_impact = models.DecimalField(
        max_digits=38, decimal_places=18, help_text="The impact at the end of the last day's month."
    )
    shared_impact = models.DecimalField(
        max_digits=38,
        decimal_places=18,
        default=Decimal(0),
        help_text="Part of the impact that other incidents count.",
    )
    note = models.TextField(blank=True)
    marked_by_label = models.CharField(max_length=254, blank=True)
    marked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    marked_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-last_day", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="incident_key_unique"),
            models.CheckConstraint(
                condition=models.Q(state__in=["open", "expected", "resolved"]), name="incident_state_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(first_day__lte=models.F("last_day")), name="incident_days_are_in_order"
            ),
        ]
        indexes = [models.Index(fields=["account", "state", "-last_day"], name="incident_by_state_and_day")]

    def __str__(self) -> str:
        return f"{self.key}: {self.first_day} to {self.last_day}"


class Anomaly(AccountModel):
    """A run of days on which the cost of one source and value was outside its expected range.

    The detector updates amounts and days; reviews belong to the incident. Amounts: amortized cost without taxes,
    credits, refunds, one-time fees and commitment purchases.
    """

    class Kind(models.TextChoices):
        SPIKE = "spike", "Spike"
        STEP = "step", "New level"
        RAMP = "ramp", "Slow ramp"
        DROP = "drop", "Drop"
        NEW = "new", "New cost"

    key = models.CharField(
        max_length=24, help_text="Public ID, derived from scope, currency and the first day when detected."
    )
    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="+")
    dimension = models.CharField(max_length=300, default=SERVICE)
    value = models.TextField(blank=True)
    label = models.TextField(blank=True, help_text="Readable name of a value that is an ID.")
    currency = models.CharField(max_length=60)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    severity = models.CharField(max_length=10, choices=Severity.choices)
    first_day = models.DateField()
    last_day = models.DateField()
    ongoing = models.BooleanField(default=False)
    actual = models.DecimalField(max_digits=38, decimal_places=18)
    expected = models.DecimalField(max_digits=38, decimal_places=18)
    impact = models.DecimalField(max_digits=38, decimal_places=18, help_text="actual - expected, so far")
    month_end_impact = models.DecimalField(
        max_digits=38, decimal_places=18, help_text="The impact at the end of the last day's month."
    )
    days = models.JSONField(
        default=list, help_text=("Chart points before, during and after: [day, actual, expected, low, high].")
    )
    causes = models.JSONField(default=list, help_text="finops.insights.anomalies.causes.Causes.")
    overlaps = models.JSONField(
        default=dict,
        help_text="Excess cost of the anomaly's lines by monitored dimension and value, as strings.",
    )
    incident = models.ForeignKey(
        Incident, null=True, blank=True, on_delete=models.SET_NULL, related_name="members"
    )
    is_counted = models.BooleanField(default=True, help_text="Whether the incident's amounts include it.")
    gone_at = models.DateTimeField(
        null=True, blank=True, help_text="When a restated bill no longer contained it."
    )
    found_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-last_day", "-id"]
        verbose_name_plural = "anomalies"
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="anomaly_key_unique"),
            models.CheckConstraint(
                condition=models.Q(first_day__lte=models.F("last_day")), name="anomaly_days_are_in_order"
            ),
        ]
        indexes = [models.Index(fields=["account", "-last_day"], name="anomaly_by_day")]

    @property
    def state(self) -> str:
        """State of the incident; a new anomaly is open."""
        return self.incident.state if self.incident is not None else Incident.State.OPEN

    def __str__(self) -> str:
        return f"{self.label or self.value}: {self.first_day} to {self.last_day}"


class AnomalySettings(AccountModel):
    """Monitored dimensions and minimum impacts of an account. An account without a row has the defaults."""

    account = models.OneToOneField(
        "accounts.Account", on_delete=models.CASCADE, related_name="anomaly_settings"
    )
    watches = ArrayField(
        models.CharField(max_length=300),
        default=list,
        blank=True,
        help_text=("Dimensions monitored by source besides the service: team, cost_tag:<key>, tag:<key>."),
    )
    minimum_impacts = models.JSONField(
        default=dict,
        blank=True,
        help_text="Currency to amount (string); for other currencies, a share of the month's spend.",
    )

    def minimum(self, currency: str) -> Decimal | None:
        """Return the account's minimum impact in this currency, if it is set."""
        text = self.minimum_impacts.get(currency)
        return Decimal(text) if text is not None else None

    def __str__(self) -> str:
        return f"{self.account_id}: {', '.join([SERVICE, *self.watches])}"


class AnomalyRun(AccountModel):
    """The last detection of an account, and the data that it used: determines whether a detection is due."""

    account = models.OneToOneField("accounts.Account", on_delete=models.CASCADE, related_name="anomaly_run")
    data_version = models.CharField(max_length=60, blank=True)
    data_through = models.DateField(null=True, blank=True)
    asks = models.PositiveIntegerField(
        default=0, help_text=("Number of changes to the input of detection by people.")
    )
    asks_seen = models.PositiveIntegerField(default=0, help_text="Found by the last detection.")
    finished_at = models.DateTimeField(null=True, blank=True)
    series = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    parts: models.JSONField[Any, Any] = models.JSONField(
        null=True,
        blank=True,
        help_text="Detection shared by several workers: its parts and the results of finished parts.",
    )

    def __str__(self) -> str:
        return f"{self.account_id}: {self.finished_at}"


class DerivedEventRun(AccountModel):
    """Of which data the account's change events were derived last: what says whether that is due."""

    account = models.OneToOneField(
        "accounts.Account", on_delete=models.CASCADE, related_name="derived_event_run"
    )
    data_version = models.CharField(max_length=80, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.account_id}: {self.finished_at}"


class SavingsDismissal(AccountModel):
    """A decision on a recommendation: dismissed with a reason, or marked as done on a day.

    Recommendations are computed from the bills and have no rows; `key` identifies them. The other fields are a copy
    of the recommendation then, so that it can be shown and followed when the bills no longer show it.
    """

    class Status(models.TextChoices):
        DISMISSED = "dismissed", "Dismissed"
        ACTED = "acted", "Done"

    key = models.CharField(
        max_length=24, help_text="ID of the recommendation, derived from rule, scope and currency."
    )
    status = models.CharField(max_length=10, choices=Status.choices)
    reason = models.TextField(blank=True)
    acted_on = models.DateField(null=True, blank=True)
    rule = models.CharField(max_length=40)
    title = models.TextField()
    currency = models.CharField(max_length=60)
    monthly_saving = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    monthly_cost = models.DecimalField(max_digits=38, decimal_places=18)
    scope = models.JSONField(
        default=dict,
        help_text="finops.insights.savings.candidates.Scope: cost that is compared afterwards.",
    )
    marked_by_label = models.CharField(max_length=254, blank=True)
    marked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    marked_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ["-marked_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="savings_dismissal_key_unique"),
            models.CheckConstraint(
                condition=models.Q(status="dismissed", acted_on__isnull=True)
                | models.Q(status="acted", acted_on__isnull=False),
                name="savings_acted_has_a_day",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class ImportedSaving(AccountModel):
    """A recommendation of a cloud provider, from the newest file or API response for its cost source.

    Amounts are the provider's monthly estimates, in `currency`; `formula` describes them.
    """

    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="+")
    rule = models.CharField(
        max_length=40,
        default="cost_optimization_hub",
        help_text=(
            "Savings rule of the provider: AWS Cost Optimization Hub, Azure Advisor or Google Recommender."
        ),
    )
    recommendation_id = models.CharField(max_length=300)
    action = models.CharField(
        max_length=60, help_text="Type in the provider's notation: Rightsize, PurchaseSavingsPlans, STOP_VM …"
    )
    resource_id = models.TextField(
        blank=True, help_text="ARN, Azure resource id or full name at Google; empty for commitments."
    )
    resource_type = models.CharField(max_length=100, blank=True)
    current = models.TextField(blank=True, help_text="Current resource, as the provider describes it.")
    recommended = models.TextField(blank=True, help_text="Recommended action, as the provider describes it.")
    sub_account = models.CharField(
        max_length=100, blank=True, help_text="FOCUS SubAccountId: account, subscription or project."
    )
    sub_account_name = models.CharField(max_length=255, blank=True)
    region = models.CharField(max_length=60, blank=True)
    found_by = models.CharField(
        max_length=60, blank=True, help_text="The provider's source of the recommendation."
    )
    effort = models.CharField(max_length=20, blank=True)
    restart_needed = models.BooleanField(null=True, blank=True)
    rollback_possible = models.BooleanField(null=True, blank=True)
    lookback_days = models.PositiveIntegerField(null=True, blank=True)
    term = models.CharField(max_length=10, blank=True, help_text="Term of a commitment: P1Y, P3Y.")
    commitment = models.CharField(
        max_length=300,
        blank=True,
        help_text=("Commitment scope, shared by alternatives by term and lookback."),
    )
    is_shared = models.BooleanField(
        default=False, help_text="A commitment shared by all accounts of the bill."
    )
    covers_compute = models.BooleanField(default=False)
    monthly_cost = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    monthly_saving = models.DecimalField(max_digits=38, decimal_places=18)
    currency = models.CharField(max_length=3)
    formula = models.TextField(blank=True, help_text=("How the provider's amount was converted to a month."))
    refreshed_at = models.DateTimeField(null=True, blank=True)
    imported_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-monthly_saving", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "recommendation_id"], name="imported_saving_once_in_a_source"
            ),
            models.CheckConstraint(
                condition=models.Q(monthly_saving__gte=0), name="imported_saving_is_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action}: {self.resource_id or self.resource_type}"


class RecommendationRefresh(AccountModel):
    """The last read of a provider's recommendations for a cost source, by file or API, and what could not be read.

    A failed read leaves the recommendations unchanged: `succeeded_at` is their date.
    """

    class Origin(models.TextChoices):
        FILE = "file", "File"
        API = "api", "API"

    source = models.OneToOneField("costs.CostSource", on_delete=models.CASCADE, related_name="+")
    rule = models.CharField(max_length=40)
    origin = models.CharField(max_length=4, choices=Origin.choices)
    tried_at = models.DateTimeField()
    succeeded_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never read.")
    kept = models.PositiveIntegerField(default=0)
    left_out = models.PositiveIntegerField(default=0, help_text="Recommendations that failed to parse.")
    gaps: models.JSONField[Any, list[str]] = models.JSONField(
        default=list, blank=True, help_text="Accounts that were not read, each with the reason."
    )
    error = models.TextField(blank=True, help_text="Error of the last read; empty if it succeeded.")
    is_denied = models.BooleanField(
        default=False, help_text="Whether the last read failed on a missing permission."
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(origin__in=["file", "api"]), name="recommendation_refresh_origin_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} of source {self.source_id}: {self.succeeded_at}"
