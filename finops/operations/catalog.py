"""Every model of the service, in groups for operators; its entry here gives each a list and a page for every row."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import models

from finops.operations.access_models import ACCESS, EVENTS, IMPORTS, USAGE
from finops.operations.entry import Entry, ModelGroup

ALLOCATION = ModelGroup(
    "Allocation",
    "tags",
    (
        Entry(
            "allocation.CostTag",
            ("key", "account", "description", "version", "created_at", "changed_at"),
            ("key", "description"),
        ),
        Entry(
            "allocation.SharedCostSplit",
            ("name", "account", "dimension", "method", "valid_from", "valid_to"),
            ("name",),
            ("method",),
        ),
        Entry("allocation.Team", ("name", "account", "description", "created_at"), ("name",)),
        Entry("allocation.TeamKey"),
        Entry("allocation.TeamMember"),
        Entry("allocation.TeamValue", ("team", "account", "value"), ("value",)),
    ),
)

BUDGETS_AND_ALERTS = ModelGroup(
    "Budgets and alerts",
    "bell",
    (
        Entry(
            "budgets.Budget",
            ("name", "account", "amount", "currency", "period", "scope", "created_at"),
            ("name",),
            ("period", "scope"),
        ),
        Entry("budgets.BudgetAmount"),
        Entry(
            "alerts.AlertChannel",
            ("name", "account", "kind", "shown_target", "tested_at", "created_at"),
            ("name",),
            ("kind",),
        ),
        Entry(
            "alerts.AlertRecipient",
            ("address", "account", "requested_at", "confirmed_at", "unsubscribed_at"),
            ("address",),
        ),
        Entry(
            "alerts.AlertSubscription",
            ("channel", "account", "trigger", "scope", "frequency", "paused_at", "created_at"),
            (),
            ("trigger",),
        ),
        Entry(
            "alerts.EventSubscription",
            (
                "created_at",
                "account",
                "event",
                "credential_label",
                "shown_target",
                "expires_at",
                "ended_at",
            ),
            ("credential_label", "public_id"),
            ("event",),
        ),
        Entry("alerts.EventFiring", ("subscription", "account", "key", "fired_at")),
        Entry("alerts.AlertFiring", ("subscription", "account", "key", "fired_at")),
        Entry(
            "alerts.AlertDelivery",
            (
                "created_at",
                "account",
                "channel_name",
                "channel_kind",
                "status",
                "next_attempt_at",
                "delivered_at",
            ),
            ("channel_name",),
            ("status", "channel_kind"),
            "Alert deliveries",
        ),
        Entry(
            "audit_webhooks.AuditWebhook",
            (
                "account",
                "start_at",
                "failures",
                "failing_since",
                "next_attempt_at",
                "paused_at",
                "last_delivered_at",
            ),
            title="Audit log webhooks",
        ),
        Entry(
            "audit_webhooks.AuditDelivery",
            ("created_at", "account", "status", "event_count", "attempt_count", "delivered_at"),
            (),
            ("status",),
        ),
        Entry("audit_webhooks.AuditDeliveryEntry", ("delivery", "entry", "account")),
        Entry(
            "notifications.Notification",
            ("title", "account", "kind", "severity", "created_at"),
            ("title",),
            ("kind", "severity"),
        ),
        Entry("notifications.NotificationRead"),
        Entry("notifications.NotificationReader"),
    ),
)

DASHBOARDS = ModelGroup(
    "Dashboards",
    "layout-dashboard",
    (
        Entry("dashboards.Dashboard", ("name", "account", "owner", "created_at", "changed_at"), ("name",)),
        Entry("dashboards.Widget", ("title", "account", "dashboard", "type", "order"), ("title",), ("type",)),
        Entry("costs.SavedView", ("name", "account", "owner", "created_at", "changed_at"), ("name",)),
        Entry(
            "reports.ReportSchedule",
            ("channel", "account", "team", "day", "sent_month", "sent_at", "problem", "paused_at"),
        ),
    ),
)

INSIGHTS = ModelGroup(
    "Insights",
    "bulb",
    (
        Entry(
            "insights.Incident",
            ("key", "account", "state", "severity", "currency", "impact", "first_day", "last_day"),
            ("key",),
            ("state", "severity"),
        ),
        Entry(
            "insights.Anomaly",
            ("label", "account", "dimension", "kind", "severity", "currency", "impact", "first_day"),
            ("label",),
            ("kind", "severity"),
            "Anomalies",
        ),
        Entry("insights.AnomalySettings", title="Anomaly settings"),
        Entry(
            "insights.SavingsDismissal",
            ("title", "account", "status", "rule", "monthly_saving", "currency", "marked_at"),
            ("title",),
            ("status",),
        ),
        Entry(
            "insights.ImportedSaving",
            ("rule", "account", "source", "resource_id", "monthly_saving", "currency", "refreshed_at"),
            ("resource_id",),
        ),
        Entry("insights.RecommendationRefresh", title="Recommendation refreshes"),
        Entry(
            "issues.IssueTracker",
            ("name", "account", "kind", "polled_at", "failures", "error"),
            ("name",),
            ("kind",),
        ),
        Entry(
            "issues.SavingIssue",
            ("remote_key", "account", "tracker", "state", "remote_status", "created_at"),
            ("remote_key",),
            ("state",),
        ),
    ),
)

JOBS = ModelGroup(
    "Jobs",
    "stack-2",
    (
        Entry(
            "costs.CostImport",
            (
                "file_name",
                "account",
                "source",
                "status",
                "stage",
                "rows",
                "created_at",
                "finished_at",
                "error",
            ),
            ("file_name", "error"),
            ("status",),
        ),
        Entry(
            "connections.CostSync",
            (
                "created_at",
                "account",
                "connection",
                "trigger",
                "status",
                "stage",
                "rows",
                "finished_at",
                "error",
            ),
            ("error",),
            ("status", "trigger"),
        ),
        Entry(
            "data_exports.DataExportRun",
            (
                "created_at",
                "account",
                "export",
                "trigger",
                "status",
                "stage",
                "rows",
                "finished_at",
                "error",
            ),
            ("error",),
            ("status", "trigger"),
        ),
        Entry(
            "ingestion.UsageUpload",
            (
                "file_name",
                "account",
                "source",
                "status",
                "accepted",
                "rejected",
                "created_at",
                "finished_at",
                "error",
            ),
            ("file_name", "error"),
            ("status",),
        ),
        Entry(
            "insights.AnomalyRun",
            ("account", "finished_at", "asks", "asks_seen", "series", "error"),
            ("error",),
        ),
        Entry("insights.DerivedEventRun", ("account", "finished_at", "error"), ("error",)),
        Entry("alerts.AlertEvaluation", ("account", "finished_at", "asks", "version", "error"), ("error",)),
        Entry(
            "backup.BackupRun",
            ("started_at", "trigger", "status", "bytes", "new_bytes", "finished_at", "error"),
            ("backup_id", "error"),
            ("status", "trigger"),
        ),
        Entry(
            "lake.UsageFlushTrouble",
            ("account", "since", "attempts", "retry_at", "error"),
            ("error",),
            (),
            "Late usage flushes",
        ),
    ),
)

AUDIT = ModelGroup(
    "Audit",
    "file-search",
    (
        Entry(
            "accounts.AuditEntry",
            ("at", "account", "actor_label", "action", "target"),
            ("actor_label", "action", "target"),
        ),
        Entry(
            "accounts.SecurityEvent",
            ("at", "user", "kind", "address", "client"),
            ("user__email", "address"),
            ("kind",),
        ),
        Entry(
            "admin.LogEntry",
            ("action_time", "user", "object_repr", "change_message"),
            ("user__email", "object_repr"),
            (),
            "Operator log",
        ),
        Entry(
            "activity.AssistantCall",
            ("at", "account", "name", "outcome", "milliseconds", "credential_label", "problem"),
            ("name", "problem"),
            ("outcome", "method"),
        ),
        Entry(
            "activity.AssistantCallCount",
            ("day", "account", "name", "outcome", "calls"),
            ("name",),
            ("outcome",),
        ),
        Entry("activity.ActivityRetention"),
        Entry("receipts.AnswerReceipt", ("at", "account", "tool", "summary"), ("summary",), ("tool",)),
        Entry("receipts.AnswerState", ("first_used_at", "account", "last_used_at")),
        Entry("receipts.ReceiptRetention"),
    ),
)

GROUPS: tuple[ModelGroup, ...] = (
    ACCESS,
    IMPORTS,
    USAGE,
    EVENTS,
    ALLOCATION,
    BUDGETS_AND_ALERTS,
    DASHBOARDS,
    INSIGHTS,
    JOBS,
    AUDIT,
)
"""The navigation of the console."""


def entries() -> Iterator[Entry]:
    for group in GROUPS:
        yield from group.entries


def group_of(model: type[models.Model]) -> ModelGroup:
    """Return the model's group. Raises LookupError for a model of no group."""
    for group in GROUPS:
        if any(entry.model is model for entry in group.entries):
            return group
    raise LookupError(model._meta.label)
