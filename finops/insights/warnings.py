"""What answers about cost say when a connection is not well."""

from __future__ import annotations

from datetime import timedelta

from finops.costs import answer_warnings
from finops.costs.answer_warnings import AnswerFacts
from finops.costs.queries.sources import FAILING, STALE

RECENT_DAYS = 62
"""A source that stopped longer before the asked days than this is history and no news."""


@answer_warnings.register("unhealthy_connections")
def unhealthy_connections(facts: AnswerFacts) -> list[str]:
    """Failing sources always; stale ones when the asked days reach beyond their data."""
    sentences = []
    for source in facts.sources.values():
        if source.status == FAILING:
            sentences.append(f"Source {source.name!r} is failing: {source.reason}")
        elif source.status == STALE and source.last_day is not None:
            recent = facts.days.start - timedelta(days=RECENT_DAYS)
            if recent <= source.last_day < facts.days.end:
                sentences.append(f"Source {source.name!r} is stale: {source.reason}")
    return sentences
