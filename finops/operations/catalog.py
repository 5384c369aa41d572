"""Every model of the service, grouped as operators think; each has a list and a page a row by its entry here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.apps import apps
from django.db import models
from django.utils.text import slugify


@dataclass(frozen=True)
class Entry:
    """A model of the console. `columns`, `search` and `filters` are names of fields; without columns the first ones."""

    model_label: str
    columns: str = ""
    search: str = ""
    filters: str = ""
    title: str = ""

    @property
    def model(self) -> type[models.Model]:
        return apps.get_model(self.model_label)

    @property
    def label(self) -> str:
        """`MCP keys`."""
        name = self.title or str(self.model._meta.verbose_name_plural)
        return name[:1].upper() + name[1:]


@dataclass(frozen=True)
class ModelGroup:
    """Models under a heading of the navigation."""

    label: str
    icon: str
    entries: tuple[Entry, ...]

    @property
    def slug(self) -> str:
        return slugify(self.label)


GROUPS = (
    ModelGroup(
        "Accounts and access",
        "users",
        (
            Entry(
                "accounts.Account",
                "name slug created_at suspended_at delete_after display_currency",
                "name slug",
            ),
            Entry(
                "accounts.User",
                "email name is_staff is_superuser is_active date_joined last_login",
                "email name",
                "is_staff is_superuser is_active",
                title="People",
            ),
            Entry("accounts.Membership", "user account role created_at", "user__email", "role"),
            Entry(
                "accounts.Invitation",
                "email account role invited_by_label expires_at sent_at",
                "email",
                "role",
            ),
            Entry(
                "accounts.MCPKey",
                "name account scope created_by_label created_at last_used_at expires_at revoked_at",
                "name created_by_label",
                "scope",
            ),
            Entry(
                "accounts.OAuthConnection",
                "application account user access created_at last_used_at",
                "user__email application__name",
                "access",
                title="Connected apps",
            ),
            Entry(
                "accounts.OAuthApplication",
                "name client_id registration_source client_type created last_consent_at",
                "client_id name",
                "registration_source client_type",
                title="OAuth clients",
            ),
            Entry("accounts.OAuthGrant", "user application created expires used_at", "user__email"),
            Entry("accounts.OAuthAccessToken", "user application created expires", "user__email"),
            Entry("accounts.OAuthRefreshToken", "user application created revoked", "user__email"),
            Entry("accounts.OAuthIDToken", "user application created expires", "user__email"),
            Entry("accounts.OAuthDeviceGrant", "user client_id status expires", "client_id", "status"),
            Entry(
                "accounts.Session",
                "user client address created_at last_seen_at expire_date",
                "user__email address",
            ),
            Entry(
                "account.EmailAddress",
                "email user verified primary",
                "email",
                "verified primary",
                "E-mail addresses",
            ),
            Entry(
                "account.EmailConfirmation",
                "email_address created sent",
                "email_address__email",
                "",
                "E-mail confirmations",
            ),
            Entry(
                "mfa.Authenticator",
                "user type created_at last_used_at",
                "user__email",
                "type",
                "Second factors",
            ),
            Entry("accounts.UnsentMail"),
            Entry("accounts.GlossaryTerm", "term meaning account", "term meaning"),
        ),
    ),
    ModelGroup(
        "Connections and imports",
        "plug-connected",
        (
            Entry("costs.CostSource", "name account kind created_at settle_days", "name", "kind"),
            Entry(
                "connections.CostConnection",
                "source account connector failures failing_since last_success_at next_sync_at paused_at",
                "source__name connector",
                "connector",
            ),
            Entry(
                "connections.CostKey",
                "source account created_by_label created_at last_used_at revoked_at",
                "source__name",
            ),
            Entry(
                "connections.CostPush",
                "public_id account source month status rows created_at finished_at",
                "source__name",
                "status",
            ),
            Entry("connections.CostPushPart", "push account number format bytes received_at"),
            Entry("connections.SyncPeriod", "connection account month rows bytes synced_at"),
            Entry("costs.ColumnMapping"),
            Entry("costs.SourceCompleteness", title="Source completeness"),
            Entry("costs.SourceOverlap"),
            Entry("costs.ImportReviewSettings", title="Import review settings"),
            Entry("costs.CostView"),
            Entry("costs.InvoiceDetail"),
            Entry("costs.InvoiceTotal"),
            Entry("costs.BillingPeriod"),
            Entry("costs.ClosedMonth"),
            Entry("costs.ClosedMonthSum"),
            Entry("costs.ContractCommitment"),
            Entry("costs.DailyCostSnapshot"),
            Entry("exchange_rates.ExchangeRate"),
            Entry("exchange_rates.ExchangeRateTable"),
            Entry(
                "lake.LakeSegment",
                "account kind source_id month rows bytes created_at retired_at",
                "",
                "kind",
            ),
            Entry("lake.LakeRollup"),
        ),
    ),
    ModelGroup(
        "Usage",
        "chart-bar",
        (
            Entry("ingestion.UsageSource", "name account kind created_at", "name", "kind"),
            Entry(
                "ingestion.UsageKey",
                "source account created_by_label created_at last_used_at revoked_at",
                "source__name",
            ),
            Entry(
                "ingestion.UsageBatch",
                "received_at account source origin accepted rejected duplicates voided_at",
                "source__name",
                "origin",
            ),
            Entry("ingestion.RejectedEvent", "received_at account source error excerpt", "error"),
            Entry("ingestion.RejectedLine", "upload account line error excerpt", "error"),
            Entry("ingestion.UsageMeter"),
            Entry("ingestion.PushAnswer", "created_at account status", "", "", "Kept push answers"),
            Entry("ingestion.UsageRetention"),
            Entry("ingestion.Customer", "customer_id name account first_seen_at", "customer_id name"),
            Entry("ingestion.UsageDimension"),
            Entry("ingestion.UsageMetric"),
            Entry("unitcosts.CustomerKey"),
            Entry("unitcosts.CustomerAlias", title="Customer aliases"),
            Entry("unitcosts.UsageDimensionMapping"),
            Entry("unitcosts.UnitMetric"),
        ),
    ),
    ModelGroup(
        "Allocation",
        "tags",
        (
            Entry(
                "allocation.CostTag",
                "key account description version created_at changed_at",
                "key description",
            ),
            Entry(
                "allocation.SharedCostSplit",
                "name account dimension method valid_from valid_to",
                "name",
                "method",
            ),
            Entry("allocation.Team", "name account description created_at", "name"),
            Entry("allocation.TeamKey"),
            Entry("allocation.TeamMember"),
            Entry("allocation.TeamValue", "team account value", "value"),
        ),
    ),
    ModelGroup(
        "Budgets and alerts",
        "bell",
        (
            Entry(
                "budgets.Budget",
                "name account amount currency period scope created_at",
                "name",
                "period scope",
            ),
            Entry("budgets.BudgetAmount"),
            Entry(
                "alerts.AlertChannel", "name account kind shown_target tested_at created_at", "name", "kind"
            ),
            Entry(
                "alerts.AlertRecipient",
                "address account requested_at confirmed_at unsubscribed_at",
                "address",
            ),
            Entry(
                "alerts.AlertSubscription",
                "channel account trigger scope frequency paused_at created_at",
                "",
                "trigger",
            ),
            Entry("alerts.AlertFiring", "subscription account key fired_at"),
            Entry(
                "alerts.AlertDelivery",
                "created_at account channel_name channel_kind status next_attempt_at delivered_at",
                "channel_name",
                "status channel_kind",
                "Alert deliveries",
            ),
            Entry(
                "notifications.Notification",
                "title account kind severity created_at",
                "title",
                "kind severity",
            ),
            Entry("notifications.NotificationRead"),
            Entry("notifications.NotificationReader"),
        ),
    ),
    ModelGroup(
        "Dashboards",
        "layout-dashboard",
        (
            Entry("dashboards.Dashboard", "name account owner created_at changed_at", "name"),
            Entry("dashboards.Widget", "title account dashboard type order", "title", "type"),
            Entry("costs.SavedView", "name account owner created_at changed_at", "name"),
            Entry("reports.ReportSchedule", "channel account team day sent_month sent_at problem paused_at"),
        ),
    ),
    ModelGroup(
        "Insights",
        "bulb",
        (
            Entry(
                "insights.Incident",
                "key account state severity currency impact first_day last_day",
                "key",
                "state severity",
            ),
            Entry(
                "insights.Anomaly",
                "label account dimension kind severity currency impact first_day",
                "label",
                "kind severity",
                "Anomalies",
            ),
            Entry("insights.AnomalySettings", title="Anomaly settings"),
            Entry(
                "insights.SavingsDismissal",
                "title account status rule monthly_saving currency marked_at",
                "title",
                "status",
            ),
            Entry(
                "insights.ImportedSaving",
                "rule account source resource_id monthly_saving currency refreshed_at",
                "resource_id",
            ),
            Entry("insights.RecommendationRefresh", title="Recommendation refreshes"),
            Entry("issues.IssueTracker", "name account kind polled_at failures error", "name", "kind"),
            Entry(
                "issues.SavingIssue",
                "remote_key account tracker state remote_status created_at",
                "remote_key",
                "state",
            ),
        ),
    ),
    ModelGroup(
        "Jobs",
        "stack-2",
        (
            Entry(
                "costs.CostImport",
                "file_name account source status stage rows created_at finished_at error",
                "file_name error",
                "status",
            ),
            Entry(
                "connections.CostSync",
                "created_at account connection trigger status stage rows finished_at error",
                "error",
                "status trigger",
            ),
            Entry(
                "ingestion.UsageUpload",
                "file_name account source status accepted rejected created_at finished_at error",
                "file_name error",
                "status",
            ),
            Entry("insights.AnomalyRun", "account finished_at asks asks_seen series error", "error"),
            Entry("alerts.AlertEvaluation", "account finished_at asks version error", "error"),
            Entry(
                "lake.UsageFlushTrouble",
                "account since attempts retry_at error",
                "error",
                "",
                "Late usage flushes",
            ),
        ),
    ),
    ModelGroup(
        "Audit",
        "file-search",
        (
            Entry("accounts.AuditEntry", "at account actor_label action target", "actor_label action target"),
            Entry("accounts.SecurityEvent", "at user kind address client", "user__email address", "kind"),
            Entry(
                "admin.LogEntry",
                "action_time user object_repr change_message",
                "user__email object_repr",
                "",
                "Operator log",
            ),
            Entry(
                "activity.AssistantCall",
                "at account name outcome milliseconds credential_label problem",
                "name problem",
                "outcome method",
            ),
            Entry("activity.AssistantCallCount", "day account name outcome calls", "name", "outcome"),
            Entry("activity.ActivityRetention"),
        ),
    ),
)
"""The navigation of the console."""


def entries() -> Iterator[Entry]:
    for group in GROUPS:
        yield from group.entries


def group_of(model: type[models.Model]) -> ModelGroup:
    """Raises LookupError for a model of no group."""
    for group in GROUPS:
        if any(entry.model is model for entry in group.entries):
            return group
    raise LookupError(model._meta.label)
