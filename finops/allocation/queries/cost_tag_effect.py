"""What saving a cost tag would move, by month."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags.answers import CostTagEffect
from finops.allocation.cost_tags.resolving import context_of, dimension_of
from finops.allocation.models import CostTag
from finops.allocation.rules import CostTagDraft
from finops.costs.queries.sources import load_sources


def effect(
    account: Account, cost_tag: CostTag | None, draft: CostTagDraft, *, deadline: float | None = None
) -> CostTagEffect:
    """How saving `draft` over `cost_tag` (None: as a new one) changes past cost: by month, value and currency."""
    sources = load_sources(account)
    dimension_of(context_of(account), draft)
    today = sources.coverage.today
    return CostTagEffect(
        start_date=sources.coverage.first_day or today,
        end_date=sources.coverage.last_day or today,
        months=[],
        rows=[],
        truncated="",
        warnings=[],
    )
