"""What a filter's field suggests: customers, and the values of a dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ibis
from django.db.models import Q

from accounts.models import Account
from finops.lake import engine
from finops.lake.schema import Kind, dimension_column
from ingestion.models import Customer
from ingestion.queries.asked import Known, find_key
from ingestion.queries.metrics import EVER
from ingestion.usage_query import CUSTOMER


@dataclass(frozen=True)
class Suggestion:
    value: str
    hint: str = ""


def suggest_values(account: Account, dimension: str, *, search: str, limit: int) -> list[Suggestion]:
    """Customers by id or name, or a dimension's values on most events, that hold the text. One query, or one lake query."""
    text = search.replace("\x00", "").strip()
    if dimension == CUSTOMER:
        rows = Customer.objects.filter(account=account).order_by("customer_id")
        found = rows.filter(Q(customer_id__icontains=text) | Q(name__icontains=text)) if text else rows
        return [Suggestion(row.customer_id, row.name) for row in found[:limit]]
    key = find_key(Known(account), dimension).value
    table = engine.run(account, Kind.USAGE, *EVER, _Values(key, text, limit), tag_keys=[key])
    return [Suggestion(row["value"]) for row in sorted(table.to_pylist(), key=lambda row: row["place"])]


@dataclass(frozen=True)
class _Values:
    key: str
    search: str
    limit: int

    def __call__(self, table: Any) -> Any:
        value = table[dimension_column(self.key)]
        found = value.lower().contains(ibis.literal(self.search).lower()) if self.search else value.notnull()
        events = table.filter(found)
        counts = events.group_by(value=value).aggregate(events=events.count())
        place = ibis.row_number().over(ibis.window(order_by=[counts.events.desc(), counts["value"]]))
        placed = counts.select("value", place=place)
        return placed.filter(placed.place < self.limit)
