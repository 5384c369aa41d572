"""Finds amounts that stand without their currency in real answers. (Types: test_every_tool.py.)

Whatever is a number is an amount, unless its name is in one of these lists: add a name when it is no money.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

RATIOS = {"share", "ratio", "coverage"}
COUNTS = {
    *("days", "cost_days", "usage_days", "days_with_data"),
    *("per", "rows", "top", "limit", "other_groups", "other_customers", "total_values", "fiscal_start_month"),
    *("places_left", "columns", "max_widgets", "x", "y", "w", "h", "widgets"),
    *("id", "channel_id", "budget_id", "subscription_id", "resend_of"),
    *("subscriptions", "attempts", "status_code"),
    *(
        "trials",
        "total_anomalies",
        "total_events",
        "score",
        "total_recommendations",
        "total_teams",
        "other_members",
        "other_values",
        "active_customers",
        "previous_active_customers",
        "total_unit_metrics",
    ),
}


QUANTITIES = {"quantity", "usage", "quantities", "quantity_series", "usage_series"}
"""Of a usage metric, beside its unit: no money."""

PERCENTS = {"thresholds"}
"""Lists of percentages of a budget's amount."""


def bare_amounts_of_answer(value: Any, path: str = "$") -> list[str]:
    """Numbers of an answer as JSON, in objects that have no `currency` and whose name says nothing else."""
    return list(_in_value(value, path, has_currency=False))


def _in_value(value: Any, path: str, *, has_currency: bool) -> Iterator[str]:
    if isinstance(value, dict):
        # A dict of numbers by day belongs to the object around it, which is nothing but its currency and it.
        inside = "currency" in value or (has_currency and bool(value) and _is_series(value))
        for name, item in value.items():
            if isinstance(item, dict) and item and _is_series(item) and not is_currencys_own(name, value):
                if name not in QUANTITIES:
                    yield f"{path}.{name}"
                continue
            if name == "config_schema":  # a schema has limits, no amounts
                continue
            is_exempt = name in RATIOS | COUNTS or name.endswith("_share") or inside
            yield from (
                []
                if name in QUANTITIES | PERCENTS or (is_exempt and _is_number(item))
                else _in_value(item, f"{path}.{name}", has_currency=inside)
            )
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _in_value(item, f"{path}[{index}]", has_currency=has_currency)
    elif _is_number(value):
        yield path


def is_currencys_own(name: str, beside: dict[str, Any]) -> bool:
    """Whether a series can be taken out of an answer with its currency (or unit) and without anything else."""
    return sorted(beside) in (sorted(["currency", name]), sorted(["unit", name]))


def _is_series(value: dict[str, Any]) -> bool:
    return all(_DAY.fullmatch(name) for name in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
