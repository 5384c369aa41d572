"""Metrics of an account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec

from accounts.models import Account
from finops.lib.errors import UserError, unknown_value
from ingestion.events import is_blank
from ingestion.models import UsageMetric
from ingestion.queries.usage_lake import EVER, usage_rows


class MetricInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric; aggregation: how quantities add up over days."""

    name: str
    label: str = ""
    aggregation: str
    units: list[str]
    first_day: date | None
    last_day: date | None


def metrics_of(account: Account) -> list[UsageMetric]:
    """Return the account's metrics by name, without reading events. One query."""
    # Blank names, which pushes could create before they were rejected, come last.
    return sorted(
        UsageMetric.objects.filter(account=account).order_by("name"), key=lambda metric: is_blank(metric.name)
    )


def first_metric(metrics: Sequence[UsageMetric]) -> str:
    """Return the default metric of a page: the first one that is summed, such as requests, not seats. Empty for none."""
    summable = [metric for metric in metrics if metric.aggregation == UsageMetric.Aggregation.SUM]
    return next((metric.name for metric in [*summable, *metrics]), "")


def find_metric(metrics: Sequence[UsageMetric], name: str) -> UsageMetric:
    """Return the metric with this name; else the only one that differs in case or surrounding spaces, or whose label
    matches.

    Raises UserError that names the nearest.
    """
    exact = [metric for metric in metrics if metric.name == name]
    casefolded_name = name.strip().casefold()
    folded_matches = [
        metric
        for metric in metrics
        if casefolded_name and casefolded_name in (metric.name.strip().casefold(), metric.label.casefold())
    ]
    matches = exact or folded_matches
    if len(matches) == 1:
        return matches[0]
    if not metrics:
        raise UserError(
            f"usage_metric: {name[:100]!r} does not exist. No usage has been pushed yet.",
            field="usage_metric",
        )
    raise unknown_value(
        "usage_metric", name[:100], [metric.name for metric in metrics], listed_by="getAccountContext"
    )


def usage_metrics(account: Account, *, deadline: float | None = None) -> list[MetricInfo]:
    """Return every metric with its units and the days of its first and last event. One query and one lake query."""
    metrics = metrics_of(account)
    if not metrics:
        return []
    rows = usage_rows(account, EVER, _MetricDays(), deadline=deadline)
    return [_info(metric, [row for row in rows if row["metric"] == metric.name]) for metric in metrics]


@dataclass(frozen=True)
class _MetricDays:
    """First and last day of each metric and unit."""

    def __call__(self, table: Any) -> Any:
        return table.group_by(["metric", "unit"]).aggregate(first=table.day.min(), last=table.day.max())


def _info(metric: UsageMetric, rows: Sequence[dict[str, Any]]) -> MetricInfo:
    return MetricInfo(
        name=metric.name,
        label=metric.label,
        aggregation=metric.aggregation,
        units=sorted(row["unit"] for row in rows if row["unit"]),
        first_day=min((row["first"] for row in rows), default=None),
        last_day=max((row["last"] for row in rows), default=None),
    )
