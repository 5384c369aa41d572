"""What a reader with limited cost access can use: pages, tools and resources that are proven to answer as if the
account had no other lines (tests/finops/cost_access/). Everything else is refused, so a new page or tool is refused
until it is proven."""

from __future__ import annotations

from typing import Final

PAGES: Final = frozenset(
    {
        *("overview", "overview_movers", "cost_explorer", "dimension_values"),
        *("saved_views", "saved_view_menu", "saved_view"),
        *("spend_change", "forecast", "budgets", "budgets_at_risk", "budget", "report"),
        *(
            "commitments",
            "purchase_plan",
            "simulation",
            "savings",
            "savings_potential",
            "saving",
            "data_health",
        ),
        *(
            "cost_tags",
            "cost_tag",
            "cost_tag_yaml",
            "tag_recommendations",
            "splits",
            "split",
            "teams",
            "team",
        ),
        *("unit_economics", "unit_metrics", "ai_spend", "usage", "usage_values", "customers", "customer"),
        *("dashboards", "dashboard", "widget"),
        *("exchange_rates", "exchange_rates_used", "how_we_count", "help_glossary", "glossary", "rest_api"),
        *("connected_apps", "account_settings", "search", "change_events"),
        *("alerts", "alerts_of_budget"),
    }
)
"""URL names of account pages that can be read."""

WRITES: Final = frozenset({"connected_app_end", "first_steps_dismiss"})
"""URL names of changes that concern only the reader herself."""

TOOLS: Final = frozenset(
    {
        *("explainSpendChange", "forecastSpend", "getAccountContext", "getCommitmentUtilization"),
        *(
            "getDashboard",
            "getDataHealth",
            "listAlertSubscriptions",
            "listBudgets",
            "listChangeEvents",
            "listCostTags",
            "listDashboards",
        ),
        *("listDimensionValues", "listSavingsRecommendations", "listSharedCostSplits"),
        *("listTagRecommendations", "listTeams", "listUnitMetrics", "listUsageEvents", "listWidgetTypes"),
        *("planCommitmentPurchase", "simulateCost"),
        *("queryCostTag", "querySpend", "queryUnitCost", "queryUsage", "verifyAnswer"),
    }
)
"""Tools of the MCP server and the REST API."""

PROMPTS: Final = frozenset(
    {
        "budget_health",
        "commitment_review",
        "savings_review",
        "top_cost_drivers",
        "weekly_cost_digest",
    }
)
"""Prompts, without the calls of other tools in them."""

RESOURCES: Final = frozenset({"glossary", "data-health", "budget", "cost-tag", "dashboard"})
"""Resources and templates by name, in addition to those that are equal for all readers."""

INSTEAD: Final = {
    "listAnomalies": "Use explainSpendChange.",
    "compareBillVersions": "Use explainSpendChange.",
    "getInvoiceReconciliation": "Use querySpend with group_by invoice.",
    "anomaly_check": "Use weekly_cost_digest.",
    "anomalies": "See What changed.",
    "anomalies_open": "See What changed.",
    "anomaly": "See What changed.",
    "invoices": "See Cost explorer, grouped by invoice.",
    "bill_versions": "See What changed.",
    "verify_answer": "Use the tool verifyAnswer.",
}
"""Alternatives to what is refused, by tool, prompt or URL name."""

_EVENTS: Final = "Change events of other or of all cost are not listed."

_ALERTS: Final = "Alerts of other than visible budgets are not listed."

LEFT_OUT: Final = {
    "alerts": _ALERTS,
    "listAlertSubscriptions": _ALERTS,
    "listChangeEvents": _EVENTS,
    "change_events": _EVENTS,
    "explainSpendChange": _EVENTS,
    "spend_change": _EVENTS,
    "cost_explorer": _EVENTS,
    "listSavingsRecommendations": "Recommendations of clouds are not included.",
    "listBudgets": "Budgets beyond the limit are not listed.",
    "overview": "Anomalies, recommendations of clouds and budgets beyond the limit are not included.",
    "dashboard": "Anomalies, recommendations of clouds and budgets beyond the limit are not included.",
    "team": "Budgets beyond the limit are not listed.",
    "savings": "Recommendations of clouds are not included.",
    "savings_potential": "Recommendations of clouds are not included.",
    "budgets": "Budgets beyond the limit are not listed.",
    "report": "Anomalies, recommendations of clouds and budgets beyond the limit are not included.",
}
"""By tool or URL name: what an answer under a limit always leaves out, stated whether or not there is any."""


def instead_of(name: str) -> str:
    """The alternative to a refused tool, prompt or page; empty if there is none."""
    return INSTEAD.get(name, "")
