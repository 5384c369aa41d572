"""Coverage of cost without an actor in the bill by change events that name an actor of its resource."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from finops.change_events.queries import resource_actors
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.insights.anomalies.lake import is_ordinary
from finops.insights.cost_scope import CostReader
from finops.lib.money import exact_sum, ratio

DAYS: Final = 30
MAX_RESOURCES: Final = 5_000


@dataclass(frozen=True)
class ActorCoverage:
    """For a provider and currency: amortized cost without an actor in the bill, and the part on resources with an
    actor by events."""

    provider: str
    currency: str
    without_actor: Decimal
    with_event: Decimal

    @property
    def share(self) -> Decimal | None:
        return ratio(self.with_event, self.without_actor)


@dataclass(frozen=True)
class ActorCoverageBuild:
    resources: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_ordinary(table) & table.actor.isnull())
        selection = lines.select(
            provider=lines.provider.coalesce(""),
            currency=lines.currency.coalesce(NO_CURRENCY),
            has_event=lines.resource_id.isin(list(self.resources)).fill_null(False),
            amount=lines.effective_cost,
        )
        return selection.group_by(["provider", "currency", "has_event"]).aggregate(
            amount=selection.amount.sum()
        )


def actor_coverage(reader: CostReader) -> list[ActorCoverage]:
    """Return the coverage of the newest DAYS days with cost, by provider; only providers with a resource named by
    events, of which the newest MAX_RESOURCES count. One query and one lake query, none without such events."""
    names = tuple(resource_actors())[:MAX_RESOURCES]
    coverage = reader.sources.coverage
    if not names or coverage.last_day is None:
        return []
    sums: dict[tuple[str, str], dict[bool, Decimal]] = defaultdict(dict)
    for row in reader.run(coverage.recent_days(DAYS), ActorCoverageBuild(names)).to_pylist():
        sums[row["provider"], row["currency"]][row["has_event"]] = row["amount"] or Decimal(0)
    return [
        ActorCoverage(provider, currency, exact_sum(parts.values()), parts[True])
        for (provider, currency), parts in sorted(sums.items())
        if True in parts
    ]
