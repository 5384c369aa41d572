"""What the cost explorer's fields offer, in people's words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from finops.costs.dimensions import DimensionKind

PERIODS = [
    ("today", "Today"),
    ("yesterday", "Yesterday"),
    ("last_7_days", "Last 7 days"),
    ("last_30_days", "Last 30 days"),
    ("last_90_days", "Last 90 days"),
    ("month_to_date", "Month to date"),
    ("last_month", "Last month"),
    ("last_3_months", "Last 3 months"),
    ("last_6_months", "Last 6 months"),
    ("last_12_months", "Last 12 months"),
    ("quarter_to_date", "Quarter to date"),
    ("year_to_date", "Year to date"),
]
GRANULARITIES = [("none", "Total only"), ("day", "By day"), ("week", "By week"), ("month", "By month")]
BASES = [("billed", "Billed"), ("amortized", "Amortized")]
COMPARISONS = [
    ("none", "No comparison"),
    ("previous_period", "Previous period"),
    ("previous_year", "Previous year"),
]
OPS = [
    ("in", "is"),
    ("not_in", "is not"),
    ("contains", "contains"),
    ("not_contains", "does not contain"),
    ("starts_with", "starts with"),
    ("absent", "has no value"),
]
TOPS = [5, 10, 20, 50]


@dataclasses.dataclass(frozen=True)
class DimensionChoices:
    """Plain dimensions and tags, each as (name, title)."""

    plain: list[tuple[str, str]]
    tags: list[tuple[str, str]]


def dimension_choices(
    kinds: Iterable[DimensionKind], tag_keys: Sequence[str], used: Iterable[str]
) -> DimensionChoices:
    """Every dimension of the registry, every tag key of the data, and what the URL names beyond them."""
    plain = [(kind.name, kind.title) for kind in kinds if not kind.is_family]
    tags = [(f"tag:{key}", key) for key in tag_keys]
    known = {name for name, _title in [*plain, *tags]}
    strange = [(name, name) for name in dict.fromkeys(used) if name not in known]
    return DimensionChoices([*plain, *strange], tags)
