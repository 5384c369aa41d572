"""Queries of tools and pages besides their examples. A tool or page that a limited reader reaches has an entry."""

from __future__ import annotations

from typing import Any

from tests.factories.cost_access import SECRET

DAYS = {"start_date": "2026-03-01", "end_date": "2026-03-18"}
OUTSIDE = [{"dimension": "service", "values": [f"{SECRET} service"]}]
BY_TEAM = [{"dimension": "team", "op": "not_in", "values": ["Core"]}]

QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "querySpend": [
        {"period": "last_90_days", "granularity": "month", "group_by": ["service", "tag:team"]},
        {"period": "last_30_days", "compare_to": "previous_period", "group_by": ["account"]},
        {"start_date": "2025-11-01", "end_date": "2026-03-20", "granularity": "week"},
        {"period": "last_12_months", "group_by": ["source"], "splits": "after"},
        {"period": "last_30_days", "filters": OUTSIDE},
        {"period": "last_30_days", "filters": BY_TEAM},
        {"period": "last_30_days", "filters": [{"dimension": "source", "values": [f"{SECRET} source"]}]},
        {"group_by": [f"tag:{SECRET}-key"]},
        {"group_by": ["currency"], "measure": "consumed_quantity"},
        {"period": "last_30_days", "filters": [{"dimension": "tag:team", "op": "absent"}]},
        {"display_currency": "EUR"},
    ],
    "listDimensionValues": [
        {"dimension": name}
        for name in ("service", "account", "tag:team", "team", "source", "resource", "currency")
    ]
    + [{"dimension": "service", "search": SECRET}, {"dimension": f"tag:{SECRET}-key"}],
    "explainSpendChange": [
        {"period": "last_30_days", "group_by": ["service"]},
        {**DAYS, "group_by": ["account", "region"]},
        {"period": "month_to_date", "group_by": ["source"], "splits": "after"},
        {"period": "last_30_days", "filters": OUTSIDE},
        {"period": "last_30_days", "filters": BY_TEAM, "group_by": ["service"]},
        {"start_date": "2026-01-10", "end_date": "2026-01-20"},
    ],
    "forecastSpend": [
        {"period": "month"},
        {"period": "quarter", "group_by": ["service"]},
        {"period": "year", "group_by": ["account"], "splits": "after"},
        {"period": "month", "filters": OUTSIDE},
        {"period": "month", "granularity": "day"},
    ],
    "getAccountContext": [{}],
    "verifyAnswer": [{"receipt": "BCDF-GHJK-LMNP-QRST"}],
    "getCommitmentUtilization": [
        {"group_by": "type"},
        {"group_by": ["commitment"], "period": "last_90_days"},
        {**DAYS},
    ],
    "getDashboard": [{"name": "Every widget"}, {"name": SECRET}],
    "getDataHealth": [{}],
    "listAlertSubscriptions": [{"triggers": ["budget"]}, {"triggers": ["digest", "anomaly"]}, {"limit": 1}],
    "listBudgets": [{"scopes": ["team"]}, {"statuses": ["ok"]}, {"limit": 1}],
    "listChangeEvents": [
        {**DAYS, "limit": 1},
        {"kinds": ["release"]},
        {"scope": {"team": ["Core"]}},
        {"scope": {"service": [f"{SECRET} service", "Compute"]}},
        {"scope": {"region": ["us-1"]}, "limit": 2},
    ],
    "listCostTags": [{}],
    "listDashboards": [{}],
    "listSavingsRecommendations": [
        {"status": "all"},
        {"status": "acted"},
        {"status": "dismissed"},
        {"status": "all", "team": "Core"},
        {"status": "all", "source": f"{SECRET} source"},
        {"minimum_saving": 1, "currency": "USD"},
    ],
    "listSharedCostSplits": [{**DAYS}, {"period": "last_90_days"}],
    "listTagRecommendations": [{}, {"period": "last_90_days"}],
    "listTeams": [{}],
    "listUnitMetrics": [{}],
    "listUsageEvents": [{**DAYS}],
    "listWidgetTypes": [{}],
    "planCommitmentPurchase": [
        {"discount_percent": 30},
        {"discount_percent": 30, "filters": OUTSIDE},
        {"discount_percent": 30, "filters": [{"dimension": "service", "values": ["Compute"]}]},
    ],
    "simulateCost": [
        {**DAYS, "growth": [{"percent": 20, "dimension": "service", "values": ["Compute"]}]},
        {**DAYS, "growth": [{"percent": 20, "dimension": "service", "values": [f"{SECRET} service"]}]},
        {
            **DAYS,
            "commitments": "end",
            "purchases": [{"per_hour": 0.5, "discount_percent": 20, "currency": "USD"}],
        },
        {**DAYS, "growth": [{"usage_metric": "requests", "quantity": 1000}]},
        {**DAYS, "ending": [f"{SECRET}"]},
        {**DAYS, "regions": [{"region": "us-1", "to_region": "eu-1"}]},
        {**DAYS, "prices": [{"usage_type": SECRET, "unit_price": 1, "currency": "USD"}]},
        {"period": "last_90_days", "filters": OUTSIDE, "growth": [{"percent": 10}]},
    ],
    "queryCostTag": [
        {"cost_tag": "env"},
        {"cost_tag": "env", "period": "last_90_days", "granularity": "month", "group_by": "service"},
        {"cost_tag": f"{SECRET}"},
    ],
    "queryUnitCost": [
        {"usage_metric": "requests"},
        {"unit_metric": "Per request", "period": "last_90_days", "granularity": "month"},
        {"usage_metric": "requests", "mode": "per_customer", "filters": OUTSIDE},
        {"usage_metric": "requests", "mode": "per_customer", "splits": "after"},
    ],
    "queryUsage": [{"usage_metric": "requests", **DAYS}],
}
"""Beside a tool's examples and no argument at all."""

PAGES: dict[str, list[str]] = {
    "overview": ["", "?trend=days", "?currency=EUR"],
    "overview_movers": [""],
    "cost_explorer": [
        "",
        "?period=last_90_days&granularity=month&group_by=account",
        "?period=last_30_days&f0=tag:team&f0v=core&f1=resource&f1v=i-1&group_by=service",
        f"?period=last_30_days&f0=service&f0v={SECRET}",
        "?period=last_30_days&f0=resource&f0v=i-1",
        "?period=last_12_months&group_by=source&format=csv",
        "?period=month_to_date&granularity=day&currency=EUR",
    ],
    "dimension_values": [
        "?dimension=service",
        "?dimension=tag:team",
        f"?dimension=account&q={SECRET}",
        "?dimension=source",
    ],
    "saved_views": ["", "?format=csv", f"?q={SECRET}"],
    "saved_view_menu": [""],
    "saved_view": [""],
    "spend_change": ["", "?period=last_30_days&group_by=account", "?group_by=source&format=csv"],
    "forecast": ["", "?period=quarter&group_by=service", "?period=month&format=csv"],
    "budgets": ["", "?format=csv", "?status=ok"],
    "budgets_at_risk": [""],
    "budget": [""],
    "report": [
        "",
        "?month=2026-03",
        "?month=2026-02&team=Core",
        "?month=2026-01&format=csv",
        "?month=2025-12",
    ],
    "commitments": ["", "?period=last_90_days", "?format=csv"],
    "purchase_plan": ["", "?discount_percent=30", "?discount_percent=30&format=csv"],
    "simulation": [
        "",
        "?period=last_90_days&growth_percent=10&growth_dimension=service&growth_value=Compute",
        f"?growth_percent=10&growth_dimension=service&growth_value={SECRET}",
        "?period=last_90_days&per_hour=1&discount_percent=20&purchase_currency=USD&format=csv",
    ],
    "savings": ["", "?status=all", "?status=acted", "?format=csv&status=all"],
    "savings_potential": [""],
    "saving": [""],
    "data_health": [""],
    "cost_tags": ["", "?format=csv"],
    "cost_tag": ["", "?period=last_90_days&by=service"],
    "cost_tag_yaml": [""],
    "tag_recommendations": ["", "?period=last_90_days", "?format=csv"],
    "splits": ["", "?format=csv"],
    "split": ["", "?period=last_90_days"],
    "teams": ["", "?format=csv", f"?q={SECRET}"],
    "team": ["", "?period=last_90_days"],
    "unit_economics": ["", "?usage_metric=requests&period=last_30_days&mode=per_customer"],
    "unit_metrics": ["", "?format=csv"],
    "ai_spend": ["", "?period=last_90_days"],
    "usage": ["", "?usage_metric=requests"],
    "usage_values": ["?dimension=customer&metric=requests"],
    "customers": ["", "?format=csv"],
    "customer": [""],
    "dashboards": [""],
    "dashboard": ["", "?period=last_90_days", "?f0=team&f0v=Core"],
    "widget": ["", "?period=last_90_days", "?f0=service&f0v=Compute"],
    "exchange_rates": [""],
    "exchange_rates_used": ["?to=EUR", "?to=USD&start_date=2026-01-01&end_date=2026-03-18"],
    "how_we_count": [""],
    "help_glossary": [""],
    "glossary": [""],
    "rest_api": [""],
    "connected_apps": [""],
    "account_settings": [""],
    "change_events": [
        "",
        "?format=csv",
        "?kind=release",
        "?source=note",
        f"?q={SECRET}",
        "?q=core",
        "?sort=occurred_at",
    ],
    "alerts": ["", "?format=csv", "?trigger=digest", f"?q={SECRET}", "?state=paused"],
    "alerts_of_budget": [""],
    "search": [
        *(f"?q={text}" for text in ("core", "budget", "bill", "create", "alert", "spend", SECRET)),
        *(f"?costs=1&q={text}" for text in ("com", "core", "i-1", "111", "tea", "key", SECRET)),
    ],
}
"""Query strings of pages."""
