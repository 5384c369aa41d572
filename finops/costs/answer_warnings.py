"""Warnings of every answer about cost. Higher apps register theirs in `answer_warnings`.

A warning is a whole sentence. It reads what the answer has already loaded and runs no lake query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from accounts.models import Account
from finops.costs.queries.overlap_notices import overlap_notices
from finops.costs.queries.sources import Sources
from finops.lib.periods import DateRange
from finops.lib.registry import Registry
from finops.lib.sentences import truncate

NAMED_SOURCES = 5
NAME_LENGTH = 60
NAMED_OVERLAPS = 3


@dataclass(frozen=True)
class AnswerFacts:
    """The data that a warning may read."""

    account: Account
    days: DateRange
    sources: Sources


answer_warnings: Registry[Callable[[AnswerFacts], list[str]]] = Registry("answer warning")


def warnings_for(facts: AnswerFacts) -> list[str]:
    """Return every warning that applies, in the order of registration."""
    return [sentence for warning in answer_warnings.values() for sentence in warning(facts)]


@answer_warnings.register("source_overlaps")
def _warn_overlaps(facts: AnswerFacts) -> list[str]:
    """Warn of possible double counting, largest sources first. Data health and the Connections page list all."""
    notices = sorted(overlap_notices(facts.sources.overlaps, facts.days), key=lambda each: -abs(each.amount))
    return [each.sentence for each in notices[:NAMED_OVERLAPS]]


@answer_warnings.register("lagging_sources")
def _warn_lagging_sources(facts: AnswerFacts) -> list[str]:
    sources = facts.sources.health
    lagging = [
        sources[source] for source in facts.sources.coverage.stopped_sources(facts.days) if source in sources
    ]
    return [f"Source {source.name!r} has no cost lines after {source.last_day}." for source in lagging]


@answer_warnings.register("unfinished_days")
def _warn_unfinished_days(facts: AnswerFacts) -> list[str]:
    coverage, days = facts.sources.coverage, facts.days
    through = coverage.complete_through
    if through is None or not days.start <= through < days.end:
        return []
    ends = {last for last in coverage.active_sources.values() if last < days.end}
    if len(ends) < 2:
        return [f"Data is complete through {through}. Later days are incomplete."]
    return [f"Days are complete {_ends_text(facts)}. Later days are incomplete."]


def _ends_text(facts: AnswerFacts) -> str:
    """Describe the last complete day of each source, grouped by day, the latest first."""
    sources: dict[date, list[str]] = {}
    for source, last in facts.sources.coverage.active_sources.items():
        if source in facts.sources.health:
            sources.setdefault(min(last, facts.days.end), []).append(facts.sources.health[source].name)
    parts = []
    for last in sorted(sources, reverse=True):
        names = sorted(sources[last])
        more = f" and {len(names) - NAMED_SOURCES} more" if len(names) > NAMED_SOURCES else ""
        quoted = ", ".join(repr(truncate(name, NAME_LENGTH)) for name in names[:NAMED_SOURCES])
        parts.append(f"through {last} of {quoted}{more}")
    return "; ".join(parts)


@answer_warnings.register("outside_the_data")
def _warn_outside_data(facts: AnswerFacts) -> list[str]:
    coverage, days = facts.sources.coverage, facts.days
    first, last = coverage.first_day, coverage.last_day
    if first is None or last is None:
        return ["The account has no cost data yet."]
    if days.end < first or days.start > last:
        return [f"No data in the period. Data is available from {first} to {last}."]
    if days.start < first:
        return [f"Data begins on {first}, so the first days of the period are empty."]
    return []
