"""The side navigation: every page of an account, under its heading, with its role. Settings have their own navigation;
related pages are tabs."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import Membership, Role


@dataclass(frozen=True)
class MenuItem:
    """A link; `pages` are the URL names of its subpages, which mark it as current too. Hidden from roles below `role`."""

    label: str
    url_name: str
    icon: str = ""
    pages: tuple[str, ...] = ()
    role: Role = Role.VIEWER

    def has_page(self, url_name: str | None) -> bool:
        return url_name == self.url_name or url_name in self.pages


@dataclass(frozen=True)
class MenuGroup:
    """Links under a heading."""

    label: str
    items: tuple[MenuItem, ...]

    def visible_to(self, membership: Membership) -> list[MenuItem]:
        return [item for item in self.items if membership.may(item.role)]


SETTINGS = (
    MenuGroup(
        "",
        (
            MenuItem("Account", "account_settings", pages=("account_delete",)),
            MenuItem("Members", "members", pages=("member_invite", "member_change", "member_remove")),
            MenuItem(
                "Cost access",
                "cost_access",
                pages=("cost_access_new", "cost_access_edit", "cost_access_readers", "cost_access_member"),
                role=Role.ADMIN,
            ),
            MenuItem("Security", "account_security", role=Role.ADMIN),
            MenuItem(
                "Single sign-on",
                "identity_providers",
                pages=(
                    *("identity_provider", "identity_provider_edit"),
                    *("identity_provider_new_oidc", "identity_provider_new_saml", "scim_token_create"),
                ),
                role=Role.ADMIN,
            ),
            MenuItem(
                "Audit log",
                "audit_log",
                pages=("audit_webhook", "audit_webhook_create", "audit_webhook_secret"),
                role=Role.ADMIN,
            ),
        ),
    ),
    MenuGroup(
        "Cost data",
        (
            MenuItem("Cost view", "cost_view"),
            MenuItem("Exchange rates", "exchange_rates", pages=("exchange_rate_new", "exchange_rate_upload")),
            MenuItem("AI prices", "ai_prices", pages=("ai_price_new", "ai_price_upload")),
            MenuItem("Imports", "import_review"),
        ),
    ),
    MenuGroup(
        "Usage data",
        (
            MenuItem("Customer key", "customer_key"),
            MenuItem("Metrics", "usage_metrics", pages=("usage_metric",)),
            MenuItem("Usage & billing", "usage_billing", pages=("usage_retention",)),
        ),
    ),
    MenuGroup(
        "Assistants",
        (
            MenuItem("Connected apps", "connected_apps"),
            MenuItem("MCP keys", "mcp_keys", pages=("mcp_key_new",)),
            MenuItem("Service accounts", "service_accounts", pages=("service_account_new",)),
            MenuItem("Glossary", "glossary"),
        ),
    ),
)
"""The second navigation, beside the pages of Settings."""

PERSONAL_SETTINGS = (
    MenuItem("Profile", "profile"),
    MenuItem("Email", "account_email"),
    MenuItem("Password", "account_change_password", pages=("account_set_password",)),
    MenuItem(
        "Two-factor sign-in",
        "mfa_index",
        pages=(
            "mfa_activate_totp",
            "mfa_deactivate_totp",
            "mfa_view_recovery_codes",
            "mfa_generate_recovery_codes",
            "mfa_list_webauthn",
            "mfa_add_webauthn",
            "mfa_edit_webauthn",
            "mfa_remove_webauthn",
        ),
    ),
    MenuItem("Sessions", "sessions"),
    MenuItem("Security log", "security_log"),
)
"""The pages of a person, whose URLs have no account: shown as tabs, and in the person's menu."""

MENU = (
    MenuGroup(
        "",
        (
            MenuItem("Overview", "overview", "layout-dashboard"),
            MenuItem(
                "Dashboards",
                "dashboards",
                "layout-grid",
                ("dashboard", "dashboard_new", "dashboard_edit", "widget_new", "widget_edit"),
            ),
        ),
    ),
    MenuGroup(
        "Costs",
        (
            MenuItem(
                "Cost explorer",
                "cost_explorer",
                "chart-histogram",
                ("saved_views", "saved_view", "saved_view_new", "saved_view_edit"),
            ),
            MenuItem("What changed", "spend_change", "arrows-diff"),
            MenuItem("Forecast", "forecast", "chart-line"),
            MenuItem("Budgets", "budgets", "wallet", ("budget", "budget_new", "budget_edit")),
            MenuItem(
                "Reports",
                "report",
                "file-analytics",
                ("report_schedules", "report_schedule_new", "report_schedule_edit"),
            ),
            MenuItem("Invoices", "invoices", "file-invoice", ("invoice", "closed_months")),
        ),
    ),
    MenuGroup(
        "Optimize",
        (
            MenuItem(
                "Anomalies",
                "anomalies",
                "activity-heartbeat",
                ("anomaly", "anomaly_settings", "anomaly_expect", "anomaly_resolve", "anomaly_reopen"),
            ),
            MenuItem(
                "Alerts",
                "alerts",
                "bell",
                (
                    *("alert_subscription", "alert_subscription_new", "alert_subscription_edit"),
                    *("alert_channels", "alert_channel", "alert_channel_new", "alert_channel_edit"),
                    *("alert_deliveries", "alert_delivery"),
                ),
            ),
            MenuItem("Commitments", "commitments", "contract", ("purchase_plan", "simulation")),
            MenuItem(
                "Savings",
                "savings",
                "pig-money",
                (
                    *("saving", "saving_dismiss", "saving_act", "issue_trackers", "issue_tracker"),
                    *("issue_tracker_new", "issue_tracker_edit"),
                ),
            ),
        ),
    ),
    MenuGroup(
        "Allocation",
        (
            MenuItem(
                "Cost tags",
                "cost_tags",
                "tags",
                (
                    *("cost_tag", "cost_tag_new", "cost_tag_edit", "cost_tag_import"),
                    *("tag_recommendations", "tag_recommendation_draft"),
                ),
            ),
            MenuItem("Shared costs", "splits", "arrows-split", ("split", "split_new", "split_edit")),
            MenuItem("Teams", "teams", "sitemap", ("team", "team_new", "team_edit", "team_key")),
        ),
    ),
    MenuGroup(
        "Unit economics",
        (
            MenuItem(
                "Unit economics",
                "unit_economics",
                "chart-dots",
                ("unit_metrics", "unit_metric_new", "unit_metric_edit", "ai_spend"),
            ),
            MenuItem("Usage", "usage", "chart-bar"),
            MenuItem("Customers", "customers", "users-group", ("customer",)),
        ),
    ),
    MenuGroup(
        "Data",
        (
            MenuItem(
                "Connections",
                "connections",
                "plug-connected",
                (
                    *("connection", "data_health", "cost_upload", "cost_import", "bill_versions"),
                    *(
                        "connection_new",
                        "connection_edit",
                        "cost_syncs",
                        "cost_sync",
                        "cost_api",
                        "cost_push_new",
                    ),
                    *("cost_key_generate", "cost_key_regenerate", "cost_key_revoke"),
                    *("usage_sources", "usage_source", "usage_source_new", "usage_source_rename"),
                    "usage_source_customer_attribute",
                    "usage_source_event_id_field",
                    *("usage_key_generate", "usage_key_regenerate", "usage_key_revoke"),
                    *("usage_batches", "usage_rejected", "usage_upload", "usage_upload_new", "usage_api"),
                    *(
                        "change_events",
                        *("change_event_retention", "change_event_note_new", "change_event_note_edit"),
                        "event_sources",
                        "event_source",
                        "event_source_new",
                        "event_source_rename",
                        "event_api",
                        "event_pull_edit",
                        "event_pull_syncs",
                    ),
                    *("event_key_generate", "event_key_regenerate", "event_key_revoke"),
                    *("data_exports", "data_export", "data_export_new", "data_export_edit"),
                ),
            ),
            MenuItem(
                "Assistant activity",
                "assistant_activity",
                "message-chatbot",
                ("assistant_call", "assistant_activity_retention"),
            ),
            MenuItem("Verify an answer", "verify_answer", "rosette-discount-check", ("receipt_retention",)),
        ),
    ),
    MenuGroup(
        "",
        (
            MenuItem(
                "Settings",
                "account_settings",
                "settings",
                tuple(
                    name
                    for group in SETTINGS
                    for item in group.items
                    for name in (item.url_name, *item.pages)
                    if name != "account_settings"
                ),
            ),
        ),
    ),
)
"""The side navigation."""

TABS = {
    "Help": (
        MenuItem("How we count", "how_we_count"),
        MenuItem("Glossary", "help_glossary"),
    ),
    "Reports": (
        MenuItem("Monthly report", "report"),
        MenuItem("Schedules", "report_schedules"),
    ),
    "Kinds of connection": (
        MenuItem("Cost sources", "connections"),
        MenuItem("Usage sources", "usage_sources"),
        MenuItem("Event sources", "event_sources"),
        MenuItem("Change events", "change_events"),
        MenuItem("Data health", "data_health"),
        MenuItem("Data exports", "data_exports"),
    ),
    "Alerts": (
        MenuItem("Subscriptions", "alerts"),
        MenuItem("Channels", "alert_channels"),
        MenuItem("Deliveries", "alert_deliveries"),
    ),
    "Commitments": (
        MenuItem("Utilization", "commitments"),
        MenuItem("Commitment purchase", "purchase_plan"),
        MenuItem("Cost simulation", "simulation"),
    ),
    "Cost access": (
        MenuItem("Limits", "cost_access"),
        MenuItem("Readers", "cost_access_readers"),
    ),
    "Unit economics": (
        MenuItem("Explore", "unit_economics"),
        MenuItem("Saved metrics", "unit_metrics"),
        MenuItem("AI spend", "ai_spend"),
    ),
}
"""Tabs of related pages, by group."""
