"""The causes of an anomaly, from the lake."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import cached_property

from accounts.models import Account
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.queries.sources import Sources
from finops.insights.anomalies.causes import Causes, causes_of
from finops.insights.anomalies.series import Detection
from finops.insights.models.anomalies import SERVICE
from finops.insights.queries.daily_costs import CausesBuild, ScopeKey, cause_sides
from finops.lib.periods import DateRange

CAUSE_DIMENSIONS = ("usage_type", "resource", "account", "region", "actor")
BEFORE_DAYS = 28


class Explainer:
    """Resolves the dimensions of one watch once, and asks for the causes of each of its anomalies."""

    def __init__(self, account: Account, sources: Sources, name: str, deadline: float) -> None:
        self.account, self.sources, self.name, self.deadline = account, sources, name, deadline

    @cached_property
    def _context(self) -> DimensionContext:
        sources = self.sources
        return DimensionContext(self.account, sources.view.product_key, sources.names, sources.manifest)

    @cached_property
    def scope(self) -> Dimension:
        """The watched dimension. Raises UserError when it is gone."""
        return registry.resolve(self._context, self.name, field="watches")

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        names = CAUSE_DIMENSIONS if self.name == SERVICE else (SERVICE, *CAUSE_DIMENSIONS)
        return tuple(registry.resolve(self._context, name) for name in names)

    def causes(self, key: ScopeKey, detection: Detection, expected: Decimal) -> list[Causes]:
        """One lake query. A dimension of which no line has a value is left out."""
        before = DateRange(detection.first - timedelta(days=BEFORE_DAYS), detection.first - timedelta(days=1))
        build = CausesBuild(
            self.scope,
            key.source_id,
            key.value,
            key.currency,
            DateRange(detection.first, detection.last),
            self.dimensions,
        )
        sides = cause_sides(
            self.account, build, before, manifest=self.sources.manifest, deadline=self.deadline
        )
        return [
            causes_of(dimension.name, dimension.title, by_value, expected)
            for dimension, by_value in zip(self.dimensions, sides, strict=True)
            if set(by_value) - {dimension.absent}
        ]
