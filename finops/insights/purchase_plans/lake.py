"""Lake expressions of a purchase plan: on-demand usage by hour, and cost of covered usage. Pure: only the engine runs
them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final

import ibis
import pyarrow as pa

from finops.costs.dimensions import NONE
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.insights.commitments.purchases import UsageSlot
from finops.insights.purchase_plans.figures import day_slots
from finops.insights.simulation.lake import COVERED, USAGE, hour_of, is_coverable, is_hourly, kind_of
from finops.lib.answers import group_by
from finops.lib.money import exact_difference, exact_sum, ratio

NO_PROVIDER: Final = NONE
"""The provider of lines that name none, as in the filter by provider."""


@dataclass(frozen=True)
class PlanBuild:
    """Usage that a commitment could cover, by provider, currency, day and hour; covered usage by provider and currency.
    Equal for equal questions."""

    filters: tuple[ResolvedFilter, ...]

    @property
    def tag_keys(self) -> list[str]:
        return list(dict.fromkeys(key for item in self.filters for key in item.dimension.tag_keys))

    def __call__(self, table: Any) -> Any:
        coverable = is_coverable(table, kind_of(table))
        lines = table.filter(reduce(and_, [coverable, *all_of(table, self.filters)]))
        is_usage = kind_of(lines) == USAGE
        keyed = lines.select(
            currency=lines.currency.coalesce(NO_CURRENCY),
            provider=lines.provider.coalesce(NO_PROVIDER),
            line=kind_of(lines),
            day=ibis.ifelse(is_usage, lines.charge_date, ibis.null("date")),
            hour=ibis.ifelse(is_usage & is_hourly(lines), hour_of(lines), ibis.null("timestamp('UTC')")),
            cost=lines.effective_cost,
            contracted=lines.contracted_cost,
            is_priced=lines.contracted_cost.notnull(),
        )
        keyed = keyed.mutate(is_priced=ibis.ifelse(keyed.line == COVERED, keyed.is_priced, True))
        return keyed.group_by("provider", "currency", "line", "day", "hour", "is_priced").aggregate(
            cost=keyed.cost.sum(),
            contracted=keyed.contracted.sum(),
        )


@dataclass(frozen=True)
class PlanUsage:
    """The usage of one provider in one currency, and the discount of its commitments that cover other usage; None:
    nothing is covered."""

    provider: str
    currency: str
    usage: Mapping[date, Sequence[UsageSlot]]
    covered_discount: Decimal | None
    days_by_day: frozenset[date]


def read_usage(table: pa.Table) -> list[PlanUsage]:
    """Usage by provider and currency; only those with on-demand usage."""
    scopes = group_by(table.to_pylist(), lambda row: (row["provider"], row["currency"]))
    plans = [_usage_of(provider, currency, rows) for (provider, currency), rows in sorted(scopes.items())]
    return [each for each in plans if each.usage]


def _usage_of(provider: str, currency: str, rows: Sequence[dict[str, Any]]) -> PlanUsage:
    hours: dict[date, dict[object, Decimal]] = defaultdict(dict)
    days: dict[date, Decimal] = {}
    for row in rows:
        if row["line"] != USAGE or not row["cost"]:
            continue
        hour: datetime | None = row["hour"]
        if hour is None:
            days[row["day"]] = exact_sum([days.get(row["day"], Decimal(0)), row["cost"]])
        else:
            hours[row["day"]][hour] = row["cost"]
    usage = {day: day_slots(hours.get(day, {}), days.get(day)) for day in sorted({*hours, *days})}
    covered = [row for row in rows if row["line"] == COVERED and row["is_priced"]]
    share = ratio(exact_sum(row["cost"] for row in covered), exact_sum(row["contracted"] for row in covered))
    discount = None if share is None else exact_difference(Decimal(1), share.quantize(Decimal("0.000001")))
    return PlanUsage(provider, currency, usage, discount, frozenset(days))
