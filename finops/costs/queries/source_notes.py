"""Notes of answers about cost on sources that deliver no new data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, Final

from accounts.models import Account
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.sources import Sources
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.periods import DateRange

NAMED_IN_CLAUSE: Final = 2
NAMED: Final = 5
LOOKED_AT_DAYS: Final = 365


@dataclass(frozen=True)
class SourceNotes:
    """`clause` is part of the first sentence and starts with a semicolon; `warnings` are for pages, which do not show
    it. Both empty if every source is healthy."""

    clause: str = ""
    warnings: tuple[str, ...] = ()


def source_notes(
    account: Account, sources: Sources, filters: Sequence[ResolvedFilter] = (), days: DateRange | None = None
) -> SourceNotes:
    """Return notes on sources with a problem whose cost the filters may select, in any period: an old month may be
    the unreadable one. No query; with filters and a problem one lake query."""
    problems = list(sources.problems)
    if problems and filters:
        source_ids = _chosen_sources(account, sources, filters, days)
        problems = [each for each in problems if each.source_id in source_ids]
    if not problems:
        return SourceNotes()
    texts = [each.words(sources.health[each.source_id]) for each in problems]
    sentences = [f"{text[0].upper()}{text[1:]}." for text in texts[:NAMED]]
    if len(texts) > NAMED:
        sentences.append(f"{len(texts) - NAMED} more sources have problems. See Data health.")
    parts = texts[:NAMED_IN_CLAUSE]
    if len(texts) > NAMED_IN_CLAUSE:
        parts.append(f"{len(texts) - NAMED_IN_CLAUSE} more sources have problems (getDataHealth)")
    return SourceNotes("".join(f"; {part}" for part in parts), tuple(sentences))


def selected_sources(
    account: Account, sources: Sources, filters: Sequence[ResolvedFilter], days: DateRange
) -> set[int] | None:
    """Return the sources whose cost the filters may select, in the days or the newest year; None for all, and where
    all sources are complete to the same day, so that no clause about days distinguishes them.

    No query for filters on sources only; for others one lake query.
    """
    coverage = sources.coverage
    if not filters or len({coverage.last_complete_days.get(each) for each in coverage.sources}) < 2:
        return None
    if not coverage.incomplete_from(days):
        return None
    if all(each.dimension.name == "source" for each in filters):
        names = sources.names_by_id
        return {each for each in names if all(item.matches_value(names[each]) for item in filters)}
    return _chosen_sources(account, sources, filters, days)


def _chosen_sources(
    account: Account, sources: Sources, filters: Sequence[ResolvedFilter], days: DateRange | None
) -> set[int]:
    """Return the sources that have a line that passes the filters, in the days or the newest year, and the sources
    without lines that no source filter excludes."""
    by_source = [each for each in filters if each.dimension.name == "source"]
    empty = {
        source_id
        for source_id, health in sources.health.items()
        if not health.rows and all(each.matches_value(health.name) for each in by_source)
    }
    span = sources.coverage.recent_days(LOOKED_AT_DAYS)
    if days is not None:
        span = DateRange(min(span.start, days.start), max(span.end, days.end))
    table = engine.run(
        account,
        Kind.COST,
        span.start,
        span.end,
        _SourcesBuild(tuple(filters)),
        tag_keys=[key for each in filters for key in each.dimension.tag_keys],
        manifest=sources.manifest,
        allow_rollups=True,
        in_own_currency=True,
    )
    return empty | {int(each) for each in table["source"].to_pylist() if each is not None}


@dataclass(frozen=True)
class _SourcesBuild:
    """The sources of the lines that pass the filters."""

    filters: tuple[ResolvedFilter, ...]

    def __call__(self, table: Any) -> Any:
        return table.filter(reduce(and_, all_of(table, list(self.filters)))).select("source").distinct()
