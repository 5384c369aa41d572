"""Starters: the initial widgets of a new board."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from accounts.models import Account
from finops.budgets.models import Budget
from finops.costs.dimensions import NONE
from finops.dashboards.layouts import WidgetDraft
from finops.dashboards.placement import Place
from finops.dashboards.widgets import CATALOGUE
from finops.unitcosts.models import UnitMetric
from ingestion.models import UsageMetric

STARTERS: Final = [
    ("empty", "Empty dashboard"),
    ("spend", "Spend overview"),
    ("ai_spend", "AI spend"),
]


def draft(name: str, place: tuple[int, int, int, int], /, title: str = "", **config: Any) -> WidgetDraft:
    """Return a widget of the catalogue at a place (x, y, w, h)."""
    kind = CATALOGUE[name]
    return WidgetDraft(
        type=kind, title=title, place=Place(*place), config=msgspec.convert(config, kind.config)
    )


def starter(account: Account, name: str) -> list[WidgetDraft]:
    """Return the widgets of a starter for which the account, which is in scope, has data."""
    if name == "ai_spend":
        return _ai_spend()
    return _spend_overview(account) if name == "spend" else []


def _ai_spend() -> list[WidgetDraft]:
    of_ai = [{"dimension": "ai_vendor", "op": "not_in", "values": [NONE]}]
    month, quarter = "month_to_date", "last_90_days"
    return [
        draft("total", (0, 0, 4, 4), "AI spend this month", period=month, filters=of_ai),
        draft(
            "spend_by",
            (4, 0, 8, 4),
            "By vendor this month",
            group_by=["ai_vendor"],
            period=month,
            filters=of_ai,
        ),
        draft(
            "spend_over_time",
            (0, 4, 12, 5),
            "Last 90 days by model",
            group_by=["ai_model"],
            granularity="week",
            period=quarter,
            filters=of_ai,
        ),
        draft(
            "table",
            (0, 9, 6, 6),
            "Models and token types",
            group_by=["ai_model", "ai_token_type"],
            filters=of_ai,
        ),
        draft("spend_by", (6, 9, 6, 6), "By person", group_by=["ai_person"], filters=of_ai),
        draft("spend_by", (0, 15, 6, 5), "By API key", group_by=["ai_key"], filters=of_ai),
        draft("top_movers", (6, 15, 6, 5), "Changes by model", group_by=["ai_model"], filters=of_ai),
    ]


def _spend_overview(account: Account) -> list[WidgetDraft]:
    drafts = [
        draft("total", (0, 0, 4, 4), "This month", period="month_to_date"),
        draft("budget_status", (4, 0, 4, 4)),
        draft("anomalies", (8, 0, 4, 4)),
        draft("spend_over_time", (0, 4, 7, 5), "Last 30 days by service"),
        draft("top_movers", (7, 4, 5, 5)),
        draft("spend_by", (0, 9, 6, 5), "By region", group_by=["region"]),
        draft("commitment_utilization", (6, 9, 6, 5)),
    ]
    if not Budget.objects.filter(account=account).exists():
        drafts = [each for each in drafts if each.type.name != "budget_status"]
    metric = UnitMetric.objects.filter(account=account).order_by("name").first()
    if metric is not None:
        drafts.append(draft("unit_cost", (0, 14, 6, 5), metric.name, unit_metric=metric.name))
    if UsageMetric.objects.filter(account=account).exists():
        drafts.append(draft("usage", (6, 14, 6, 5), group_by=["customer"]))
    return drafts
