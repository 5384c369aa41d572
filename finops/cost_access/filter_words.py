"""Readable texts for the filters of a limit."""

from __future__ import annotations

from collections.abc import Sequence

from finops.cost_access.models import CostAccessLimit
from finops.cost_access.resolution import alternatives_of
from finops.costs.dimensions import registry
from finops.costs.spend_query import CostFilter
from finops.costs.views.choices import OPS

MAX_VALUES = 5


def words_of_limit(limit: CostAccessLimit) -> list[str]:
    """One text for each alternative: `Service is EC2, S3 and Team is Core`. No query."""
    return [" and ".join(map(words_of_filter, filters)) for filters in alternatives_of(limit)]


def words_of_filter(item: CostFilter) -> str:
    """`Service is EC2, S3`; for more than five values, the first ones and the number of others."""
    titles = {kind.name: kind.title for kind in registry.kinds() if not kind.is_family}
    more = len(item.values) - MAX_VALUES
    values = ", ".join(item.values[:MAX_VALUES]) + (f" and {more} more" if more > 0 else "")
    return f"{titles.get(item.dimension, item.dimension)} {dict(OPS)[item.op]} {values}".strip()


def all_words(limits: Sequence[CostAccessLimit]) -> dict[int, list[str]]:
    """Texts by the limit's id."""
    return {limit.pk: words_of_limit(limit) for limit in limits}
