"""Warnings that every answer about cost carries when they apply. Higher rooms register theirs when they start.

    @answer_warnings.register("unhealthy_connections")
    def _unhealthy(facts: AnswerFacts) -> list[str]: …

A warning is a whole sentence; it reads what the answer has loaded already and asks no lake query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from accounts.models import Account
from finops.costs.answers import SourceHealth
from finops.costs.coverage import Coverage
from finops.lib.periods import DateRange
from finops.lib.sentences import truncate

NAMED_SOURCES = 5
NAME_LENGTH = 60


@dataclass(frozen=True)
class AnswerFacts:
    """What a warning may look at."""

    account: Account
    days: DateRange
    coverage: Coverage
    sources: Mapping[int, SourceHealth]


Warner = Callable[[AnswerFacts], list[str]]

_warners: dict[str, Warner] = {}


def register(name: str) -> Callable[[Warner], Warner]:
    """Add a warner; ValueError when the name is taken."""

    def add(warner: Warner) -> Warner:
        if name in _warners:
            raise ValueError(f"Answer warning {name!r} is registered twice.")
        _warners[name] = warner
        return warner

    return add


def warnings_for(facts: AnswerFacts) -> list[str]:
    """Every sentence that applies, in the order of registration."""
    return [sentence for warner in _warners.values() for sentence in warner(facts)]


@register("lagging_sources")
def _warn_lagging_sources(facts: AnswerFacts) -> list[str]:
    lagging = [
        facts.sources[source]
        for source in facts.coverage.stopped_sources(facts.days)
        if source in facts.sources
    ]
    return [f"Source {source.name!r} has no cost lines after {source.last_day}." for source in lagging]


@register("unfinished_days")
def _warn_unfinished_days(facts: AnswerFacts) -> list[str]:
    through, days = facts.coverage.complete_through, facts.days
    if through is None or not days.start <= through < days.end:
        return []
    ends = {last for last in facts.coverage.active_sources.values() if last < days.end}
    if len(ends) < 2:
        return [f"Data is complete through {through}; amounts of later days are missing or will still grow."]
    return [f"Days are complete {_ends_text(facts)}; amounts of later days are missing or will still grow."]


def _ends_text(facts: AnswerFacts) -> str:
    """How far each source is complete, those with the same end together, the latest end first."""
    sources: dict[date, list[str]] = {}
    for source, last in facts.coverage.active_sources.items():
        if source in facts.sources:
            sources.setdefault(min(last, facts.days.end), []).append(facts.sources[source].name)
    parts = []
    for last in sorted(sources, reverse=True):
        names = sorted(sources[last])
        more = f" and {len(names) - NAMED_SOURCES} more" if len(names) > NAMED_SOURCES else ""
        quoted = ", ".join(repr(truncate(name, NAME_LENGTH)) for name in names[:NAMED_SOURCES])
        parts.append(f"through {last} of {quoted}{more}")
    return "; ".join(parts)


@register("outside_the_data")
def _warn_outside_data(facts: AnswerFacts) -> list[str]:
    first, last, days = facts.coverage.first_day, facts.coverage.last_day, facts.days
    if first is None or last is None:
        return ["The account has no cost data yet."]
    if days.end < first or days.start > last:
        return [f"The period has no data: cost lines are of {first} to {last}."]
    if days.start < first:
        return [f"Data begins on {first}, so the period's first days are empty."]
    return []
