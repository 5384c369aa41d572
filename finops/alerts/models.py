"""Alerts: destinations (channels), subscriptions, firings and deliveries."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class AlertChannel(AccountModel):
    """A destination of alerts. `target` is sealed (finops.lib.sealing) because it has secrets; pages and tools show
    `shown_target`."""

    class Kind(models.TextChoices):
        SLACK = "slack", "Slack"
        MICROSOFT_TEAMS = "microsoft_teams", "Microsoft Teams"
        EMAIL = "email", "Email"
        PAGERDUTY = "pagerduty", "PagerDuty"
        WEBHOOK = "webhook", "Signed webhook"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    kind = models.CharField(max_length=20, choices=Kind.choices)
    target = models.TextField(help_text="Encrypted JSON: url, addresses, routing_key, signing_secret.")
    shown_target = models.CharField(max_length=300, blank=True, help_text="Displayed part of the target.")
    tested_at = models.DateTimeField(
        null=True, blank=True, help_text="Time of the last delivered test message."
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    changed_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name",
                name="alert_channel_name_unique",
                message="An alert channel with this name already exists.",
            ),
            not_empty("name", name="alert_channel_has_a_name", message="Enter a name."),
        ]

    def __str__(self) -> str:
        return self.name


class AlertRecipient(AccountModel):
    """An email address that got a confirmation request for alerts of the account, or unsubscribed from them."""

    address = models.EmailField(max_length=254, help_text="In lowercase.")
    requested_at = models.DateTimeField(null=True, blank=True, help_text="The last confirmation email.")
    confirmed_at = models.DateTimeField(null=True, blank=True)
    unsubscribed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["address"]
        constraints = [
            models.UniqueConstraint(fields=["account", "address"], name="alert_recipient_once"),
            models.CheckConstraint(
                condition=Q(address=Lower("address")), name="alert_recipient_in_lower_case"
            ),
            models.CheckConstraint(
                condition=Q(confirmed_at=None) | Q(unsubscribed_at=None),
                name="alert_recipient_confirmed_or_unsubscribed",
            ),
        ]
        indexes = [models.Index(fields=["address", "requested_at"], name="alert_recipient_requests")]

    def __str__(self) -> str:
        return self.address


class AlertSubscription(AccountModel):
    """A channel with a trigger: a budget's thresholds, anomalies above an impact, a digest, imports that change a
    billing month too much, sources that are late or failing, the result or a change of a saved view, or a unit cost
    above its target."""

    class Trigger(models.TextChoices):
        BUDGET = "budget", "Budget thresholds"
        ANOMALY = "anomaly", "Anomalies"
        DIGEST = "digest", "Digest"
        IMPORT = "import", "Imports that need review"
        SOURCE = "source", "Sources that are late or failing"
        VIEW_REPORT = "view_report", "Saved view report"
        VIEW_CHANGE = "view_change", "Saved view change"
        UNIT_COST = "unit_cost", "Unit cost above target"

    class Measure(models.TextChoices):
        ACTUAL = "actual", "Actual cost"
        FORECAST = "forecast", "Forecast for the period's end"

    class Scope(models.TextChoices):
        ACCOUNT = "account", "Whole account"
        COST_SOURCE = "cost_source", "One cost source"
        TEAM = "team", "One team"
        COST_TAG = "cost_tag", "One cost tag value"

    class Frequency(models.TextChoices):
        DAILY = "daily", "Every day"
        WEEKLY = "weekly", "Every Monday"
        MONTHLY = "monthly", "On the first of each month"

    channel = models.ForeignKey(AlertChannel, on_delete=models.CASCADE, related_name="subscriptions")
    trigger = models.CharField(max_length=20, choices=Trigger.choices)
    # A budget's thresholds.
    budget = models.ForeignKey(
        "budgets.Budget", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    thresholds = ArrayField(
        models.PositiveSmallIntegerField(), default=list, blank=True, help_text="Percent of the amount."
    )
    measure = models.CharField(max_length=10, choices=Measure.choices, blank=True)
    # Anomalies.
    scope = models.CharField(max_length=20, choices=Scope.choices, blank=True)
    cost_source = models.ForeignKey(
        "costs.CostSource", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    team = models.ForeignKey(
        "allocation.Team", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    cost_tag = models.ForeignKey(
        "allocation.CostTag", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    cost_tag_value = models.CharField(max_length=255, blank=True)
    minimum_impact = models.DecimalField(
        max_digits=20,
        decimal_places=2,
        null=True,
        blank=True,
        help_text="Minimum impact so far, or minimum change of a saved view, in currency.",
    )
    currency = models.CharField(max_length=3, blank=True)
    # A digest or report; for a change and a unit cost, the period that is measured.
    frequency = models.CharField(max_length=10, choices=Frequency.choices, blank=True)
    # A saved view.
    saved_view = models.ForeignKey(
        "costs.SavedView", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    minimum_percent = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Minimum change in percent of the previous period."
    )
    # A unit cost.
    unit_metric = models.ForeignKey(
        "unitcosts.UnitMetric", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    target = models.DecimalField(
        max_digits=30,
        decimal_places=12,
        null=True,
        blank=True,
        help_text="Maximum unit cost, in currency.",
    )

    fingerprint = models.CharField(max_length=64, help_text="Hash of channel, trigger and scope; unique.")
    paused_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "fingerprint"],
                name="alert_subscription_unique",
                violation_error_message="The channel already has this subscription.",
            ),
            models.CheckConstraint(
                condition=(
                    Q(trigger="budget", budget__isnull=False, scope="", minimum_impact=None, frequency="")
                    & ~Q(measure="")
                    & Q(thresholds__len__gte=1)
                )
                | (
                    Q(trigger="anomaly", budget=None, measure="", thresholds__len=0, frequency="")
                    & ~Q(scope="")
                )
                | (
                    Q(trigger="digest", budget=None, measure="", thresholds__len=0, scope="")
                    & Q(minimum_impact=None)
                    & ~Q(frequency="")
                )
                | (
                    Q(trigger__in=["view_report", "view_change", "unit_cost"], budget=None, measure="")
                    & Q(thresholds__len=0, scope="")
                    & ~Q(frequency="")
                )
                | Q(
                    trigger__in=["import", "source"],
                    budget=None,
                    measure="",
                    thresholds__len=0,
                    scope="",
                    minimum_impact=None,
                    frequency="",
                ),
                name="alert_subscription_is_of_one_trigger",
                violation_error_message="A subscription has exactly the fields of its trigger.",
            ),
            models.CheckConstraint(
                condition=(
                    Q(trigger__in=["budget", "anomaly", "digest", "import", "source"])
                    & Q(saved_view=None, unit_metric=None, minimum_percent=None, target=None)
                )
                | Q(
                    trigger="view_report",
                    saved_view__isnull=False,
                    unit_metric=None,
                    minimum_percent=None,
                    minimum_impact=None,
                    target=None,
                )
                | (
                    Q(trigger="view_change", saved_view__isnull=False, unit_metric=None, target=None)
                    & (Q(minimum_percent__gt=0) | Q(minimum_impact__gt=0))
                )
                | Q(
                    trigger="unit_cost",
                    saved_view=None,
                    unit_metric__isnull=False,
                    minimum_percent=None,
                    minimum_impact=None,
                    target__gte=0,
                ),
                name="alert_subscription_measure_is_whole",
                violation_error_message="A subscription has exactly the fields of its trigger.",
            ),
            models.CheckConstraint(
                condition=Q(scope__in=["", "account"], cost_source=None, team=None, cost_tag=None)
                | Q(scope="cost_source", cost_source__isnull=False, team=None, cost_tag=None)
                | Q(scope="team", cost_source=None, team__isnull=False, cost_tag=None)
                | (
                    Q(scope="cost_tag", cost_source=None, team=None, cost_tag__isnull=False)
                    & ~Q(cost_tag_value="")
                ),
                name="alert_subscription_scope_is_whole",
                violation_error_message="A subscription has exactly the fields of its scope.",
            ),
            models.CheckConstraint(
                condition=Q(minimum_impact=None, target=None, currency="")
                | (Q(minimum_impact__gte=0) & ~Q(currency=""))
                | (Q(target__isnull=False) & ~Q(currency="")),
                name="alert_subscription_impact_has_a_currency",
                violation_error_message="A minimum impact is 0 or more, in a currency.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_trigger_display()} to {self.channel_id}"


class AlertFiring(AccountModel):
    """One firing of a subscription. `key`: budget, period, measure and threshold; an anomaly; a digest's period."""

    subscription = models.ForeignKey(AlertSubscription, on_delete=models.CASCADE, related_name="firings")
    key = models.CharField(max_length=200)
    message = models.JSONField(help_text="finops.alerts.messages.Message at the time of the alert.")
    fired_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-fired_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["subscription", "key"], name="alert_firing_once"),
        ]

    def __str__(self) -> str:
        return self.key


class EventSubscription(AccountModel):
    """A subscription of an assistant's callback to events of one type. Key and connection are both empty
    after the credential is deleted."""

    class Event(models.TextChoices):
        ANOMALY_OPENED = "anomaly.opened", "Anomaly opened"
        BUDGET_THRESHOLD = "budget.threshold_reached", "Budget threshold reached"
        CONNECTION_PROBLEM = "connection.problem", "Connection late or failing"
        IMPORT_FINISHED = "import.finished", "Import finished"
        FORECAST_CHANGED = "forecast.changed", "Forecast changed"

    public_id = models.CharField(max_length=40, help_text="From credential, callback, event, arguments.")
    event = models.CharField(max_length=40, choices=Event.choices)
    arguments = models.JSONField(default=dict, blank=True)
    target = models.TextField(help_text="Encrypted JSON: url, signing_secret, previous_secret.")
    shown_target = models.CharField(max_length=300, blank=True)
    mcp_key = models.ForeignKey(
        "accounts.MCPKey", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    connection = models.ForeignKey(
        "accounts.OAuthConnection", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    credential_label = models.CharField(max_length=254)
    follows_extension = models.BooleanField(
        default=False,
        help_text="The client declared the SEP-3415 extension: its error codes apply, and 410 rejects a single event.",
    )
    state = models.JSONField(
        default=dict, blank=True, help_text="State for the next evaluation; empty before the first."
    )
    verified_at = models.DateTimeField(help_text="Time of the last challenge that the callback answered.")
    expires_at = models.DateTimeField(help_text="Expiry unless the client renews the subscription.")
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="event_subscription_once"),
            models.CheckConstraint(
                condition=Q(mcp_key=None) | Q(connection=None), name="event_subscription_has_one_credential"
            ),
        ]
        indexes = [models.Index(fields=["expires_at"], name="event_subscription_by_end")]

    def __str__(self) -> str:
        return f"{self.event} to {self.shown_target}"


class EventFiring(AccountModel):
    """An event that a subscription received, or its baseline: `key` is as in AlertFiring."""

    subscription = models.ForeignKey(EventSubscription, on_delete=models.CASCADE, related_name="firings")
    key = models.CharField(max_length=200)
    fired_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-fired_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["subscription", "key"], name="event_firing_once")]

    def __str__(self) -> str:
        return self.key


class AlertDelivery(AccountModel):
    """One message to one channel or one event subscription, with its attempts. Kept when these are deleted."""

    EVENT = "event"

    class Status(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"

    channel = models.ForeignKey(
        AlertChannel, null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    channel_name = models.CharField(max_length=100)
    channel_kind = models.CharField(
        max_length=20, choices=[*AlertChannel.Kind.choices, (EVENT, "Assistant event")]
    )
    event_subscription = models.ForeignKey(
        EventSubscription, null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    firing = models.ForeignKey(
        AlertFiring,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="deliveries",
        help_text="Empty: a test message.",
    )
    resend_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="resends"
    )
    is_test = models.BooleanField(default=False)
    message = models.JSONField(help_text="finops.alerts.messages.Message of every attempt.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    attempts = models.JSONField(
        default=list,
        help_text="[{at, seconds, status_code or null, answer, arrived}], oldest first; responses are truncated.",
    )
    next_attempt_at = models.DateTimeField(null=True, blank=True, default=clock.now)
    delivered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name_plural = "alert deliveries"
        constraints = [
            models.CheckConstraint(
                condition=Q(status="waiting", next_attempt_at__isnull=False, delivered_at=None)
                | Q(status="delivered", next_attempt_at=None, delivered_at__isnull=False)
                | Q(status="failed", next_attempt_at=None, delivered_at=None),
                name="alert_delivery_status_is_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at"], name="alert_delivery_by_time"),
            models.Index(
                fields=["next_attempt_at"], condition=Q(status="waiting"), name="alert_delivery_due"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.channel_name}: {self.status}"


class AlertEvaluation(AccountModel):
    """The last evaluation of the account's subscriptions and its data; decides whether the next one is due."""

    account = models.OneToOneField("accounts.Account", on_delete=models.CASCADE, related_name="+")
    version = models.CharField(max_length=200, blank=True)
    asks = models.PositiveIntegerField(
        default=0, help_text="Number of changes to subscriptions and budgets by people."
    )
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.account_id}: {self.finished_at}"
