"""Health of the data of every connection: the query of the page Data health and of the tool getDataHealth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from accounts.models import Account
from finops.change_events.queries import event_source_activity
from finops.costs.answers import AccountRef, SourceHealth
from finops.costs.coverage import Coverage, complete_data_words
from finops.costs.queries.closed_months import restatement_sentences
from finops.costs.queries.import_notices import ImportNotices, import_notices
from finops.costs.queries.sources import (
    FAILING,
    HEALTHY,
    IMPORTING,
    NO_DATA,
    PARTIAL,
    STALE,
    Delivery,
    Sources,
    cost_deliveries,
    load_sources,
)
from finops.insights.connection_health import (
    IRREGULAR,
    ConnectionHealth,
    Gap,
    RestatedMonth,
    next_delivery,
)
from finops.insights.cost_scope import CostReader
from finops.insights.event_health import event_connection
from finops.insights.savings.freshness import recommendation_refreshes
from finops.insights.sync_health import SyncFacts, with_recommendations
from finops.insights.usage_health import remark_sentences, usage_connection
from finops.lake.engine.engine import LakeTooLarge, LakeUnavailable
from finops.lake.usage import flush_scheduler
from finops.lake.usage.flush_scheduler import StuckFlush
from finops.lib import clock, disk
from finops.lib.answers import AccountAnswer
from finops.lib.periods import DateRange, each_day, month_end
from finops.lib.registry import Registry
from finops.lib.sentences import join_first, quote
from ingestion.queries.activity import usage_deliveries


class HealthAnswer(AccountAnswer, frozen=True, kw_only=True):
    today: date
    data_from: date | None
    data_through: date | None
    connections: list[ConnectionHealth]
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


health_warnings: Registry[Callable[[Account], list[str]]] = Registry("health warning")
"""Warnings about an account besides its connections: apps above register a function each."""

LOOKED_AT_DAYS: Final = 92
DAILY_SHARE: Final = 0.8
"""A source with lines on a smaller share of its days does not deliver daily, so a day without lines is not a gap."""
MAX_GAPS: Final = 12
"""Maximum number of gaps and months of one connection in an answer."""
WORST_FIRST: Final = (FAILING, STALE, PARTIAL, NO_DATA, IMPORTING, HEALTHY)
SHOWN = 50
_NOUNS: Final = {"cost": "Source", "usage": "Usage source", "events": "Event source"}
NAMED = 5

_COST_ADVICE = {
    FAILING: "Open the connection, read the import's error and import the corrected file.",
    STALE: "Import the newest export file, or check that the provider still writes the export.",
    NO_DATA: "Import the first file.",
    PARTIAL: (
        "Import these days again when the provider has completed them. Until then they count as incomplete."
    ),
}


class _DaysOfSources:
    """Days with lines of each source."""

    def __call__(self, table: Any) -> Any:
        return table.group_by(["source", "charge_date"]).aggregate(lines=table.count())


_DAYS = _DaysOfSources()


def days_of_sources(reader: CostReader, days: DateRange) -> Mapping[int, set[date]]:
    """Return the days that have cost lines, by source. One lake query over two columns."""
    by_source: dict[int, set[date]] = defaultdict(set)
    for row in reader.run(days, _DAYS, allow_rollups=False).to_pylist():
        # A line without a source is of no connection.
        if row["source"] is not None:
            by_source[int(row["source"])].add(row["charge_date"])
    return by_source


def gaps_between(present: Collection[date], days: DateRange) -> list[Gap]:
    """Return runs of days without lines; none for a source that does not deliver daily."""
    missing = [day for day in each_day(days) if day not in present]
    if len(missing) > days.days * (1 - DAILY_SHARE):
        return []
    gaps: list[Gap] = []
    for day in missing:
        if gaps and gaps[-1].end_date + timedelta(days=1) == day:
            gaps[-1] = Gap(start_date=gaps[-1].start_date, end_date=day)
        else:
            gaps.append(Gap(start_date=day, end_date=day))
    return gaps


def missing_months(months: Collection[date]) -> list[date]:
    """Return billing months without lines between the first and the last of a source."""
    if not months:
        return []
    missing, month = [], min(months)
    while month < max(months):
        if month not in months:
            missing.append(month)
        month = month_end(month) + timedelta(days=1)
    return missing


def restated_months(deliveries: Sequence[Delivery]) -> list[RestatedMonth]:
    """Return months that were imported again after they were over and complete, newest first."""
    days: dict[date, list[date]] = defaultdict(list)
    for delivery in deliveries:
        for month in delivery.months:
            if delivery.at.date() > month_end(month):
                days[month].append(delivery.at.date())
    return [
        RestatedMonth(month=f"{month:%Y-%m}", times=len(arrivals) - 1, last_day=max(arrivals))
        for month, arrivals in sorted(days.items(), reverse=True)
        if len(arrivals) > 1
    ]


def cost_connection(
    source_id: int,
    health: SourceHealth,
    coverage: Coverage,
    months: Collection[date],
    deliveries: Sequence[Delivery],
    present: Collection[date],
    days: DateRange | None,
    now: datetime,
) -> ConnectionHealth:
    """Return the health of a cost source. `present` are its days with lines among the checked `days`."""
    last = deliveries[-1].at if deliveries else None
    due, overdue = next_delivery([delivery.at.date() for delivery in deliveries], last, now)
    span = coverage.sources.get(source_id)
    gaps: list[Gap] = []
    if days and span:
        gaps = gaps_between(present, DateRange(max(days.start, span.first_day), min(days.end, span.last_day)))
    advice = _COST_ADVICE.get(health.status, "")
    late = f" A delivery was expected by {due:%Y-%m-%d %H:%M} UTC." if due and overdue else ""
    return ConnectionHealth(
        name=health.name,
        kind="cost",
        status=health.status,
        reason=health.reason + late,
        what_to_do=advice or (_COST_ADVICE[STALE] if overdue else ""),
        data_from=health.first_day,
        data_through=health.last_day,
        last_success_at=last,
        expected_by=due,
        expected_reason="" if due else IRREGULAR,
        overdue=overdue,
        gaps=gaps[-MAX_GAPS:],
        missing_months=[f"{month:%Y-%m}" for month in missing_months(months)][-MAX_GAPS:],
        restated_months=restated_months(deliveries)[:MAX_GAPS],
        last_error=health.last_error,
        page=f"connections/{source_id}/",
    )


def needs_attention(each: ConnectionHealth) -> bool:
    return each.overdue or each.status not in (HEALTHY, IMPORTING)


@dataclass(frozen=True)
class HealthFacts:
    """All that an answer about data health is made of, unhealthy connections first. `texts`: warnings besides those of
    connections."""

    account: Account
    sources: Sources
    notices: ImportNotices
    connections: Sequence[ConnectionHealth]
    usage: StuckFlush | None
    low_disk: str
    texts: Sequence[str]

    def answer(self, shown: int = SHOWN) -> HealthAnswer:
        """Return the answer with the first `shown` connections. No query."""
        connections, coverage = self.connections, self.sources.coverage
        unwell = [each for each in connections if needs_attention(each)]
        return HealthAnswer(
            account=AccountRef(slug=self.account.slug, name=self.account.name),
            summary=_summary(self.account, self.sources, connections, unwell, self.notices)
            + (" Usage ingestion is delayed." if self.usage else "")
            + (" Imports and uploads wait for disk space." if self.low_disk else ""),
            today=coverage.today,
            data_from=coverage.first_day,
            data_through=coverage.complete_through,
            connections=list(connections[:shown]),
            truncated=f"{shown} of {len(connections)} connections listed, unhealthy ones first."
            if len(connections) > shown
            else "",
            warnings=[
                *([self.low_disk] if self.low_disk else []),
                *self.notices.sentences,
                *_warnings(unwell[:shown], self.usage),
                *self.texts,
            ],
            hint=_hint(connections, unwell),
        )


def health_facts(account: Account, *, deadline: float | None = None) -> HealthFacts:
    """Return the health of every connection, and whether usage ingestion is delayed.

    Eleven queries of PostgreSQL, three more with synced sources, and one lake query (two columns of 92 days) for days
    without cost lines; if the lake cannot answer it, gaps are not checked and a warning says so.
    """
    sources, usage = load_sources(account), flush_scheduler.stuck(account)
    notices, low_disk = import_notices(account), disk.low_disk()
    gaps_unknown, connections = _connections(account, sources, deadline)
    texts = [
        *gaps_unknown,
        *(text for warnings in health_warnings.values() for text in warnings(account)),
        *restatement_sentences(sources),
        *remark_sentences(account),
    ]
    return HealthFacts(account, sources, notices, connections, usage, low_disk, texts)


def data_health(account: Account, *, deadline: float | None = None, shown: int = SHOWN) -> HealthAnswer:
    """Return the answer of `health_facts`."""
    return health_facts(account, deadline=deadline).answer(shown)


def _connections(
    account: Account, sources: Sources, deadline: float | None
) -> tuple[list[str], list[ConnectionHealth]]:
    now, deliveries = clock.now(), cost_deliveries(account)
    through = sources.coverage.complete_through
    days = DateRange(through - timedelta(days=LOOKED_AT_DAYS - 1), through) if through else None
    unknown, present = _present(CostReader(account, sources, deadline), days)
    months: dict[int, set[date]] = {}
    for segment in sources.manifest.months:
        months.setdefault(segment.source_id, set()).add(segment.month)
    cost = [
        cost_connection(
            source_id,
            health,
            sources.coverage,
            months.get(source_id, set()),
            deliveries.get(source_id, []),
            present.get(source_id, set()),
            days if present else None,
            now,
        )
        for source_id, health in sources.health.items()
    ]
    syncs = SyncFacts.of_account(account)
    cost = [syncs.with_cost(source_id, each) for source_id, each in zip(sources.health, cost, strict=True)]
    refreshes = {row.source_id: row for row in recommendation_refreshes()}
    cost = [
        with_recommendations(each, refreshes[source_id]) if source_id in refreshes else each
        for source_id, each in zip(sources.health, cost, strict=True)
    ]
    usage = [
        syncs.with_usage(each.source_id, usage_connection(each, now)) for each in usage_deliveries(account)
    ]

    events = [
        syncs.with_events(each.source_id, event_connection(each)) for each in event_source_activity(account)
    ]

    def need(each: ConnectionHealth) -> tuple[int, bool, str]:
        return WORST_FIRST.index(each.status), not each.overdue, each.name

    return unknown, sorted([*cost, *usage, *events], key=need)


def _present(reader: CostReader, days: DateRange | None) -> tuple[list[str], Mapping[int, set[date]]]:
    """Return the days with lines by source; the health must not fail with the lake."""
    if days is None:
        return [], {}
    try:
        return [], days_of_sources(reader, days)
    except (LakeUnavailable, LakeTooLarge) as problem:
        return [f"Days without cost lines were not checked: {problem.message}"], {}


def _warnings(unwell: Sequence[ConnectionHealth], usage: StuckFlush | None) -> list[str]:
    warnings = [
        f"{_NOUNS[each.kind]} {each.name!r} {_predicate(each)}: {each.reason} {each.what_to_do}".strip()
        for each in unwell
    ]
    if usage is not None:
        warnings.append(
            "Usage events are accepted and counted, but have not been written to the lake since "
            f"{usage.since:%Y-%m-%d %H:%M} UTC: {usage.reason}. No event is lost; the server retries. "
            "If this persists, contact the operator of this server."
        )
    return warnings


def _predicate(each: ConnectionHealth) -> str:
    word = _word(each)
    return f"has {word}" if word == "no data" else f"is {word}"


def _word(each: ConnectionHealth) -> str:
    return "overdue" if each.overdue and each.status == "healthy" else each.status.replace("_", " ")


def _summary(
    account: Account,
    sources: Sources,
    connections: Sequence[ConnectionHealth],
    unwell: Sequence[ConnectionHealth],
    notices: ImportNotices,
) -> str:
    count = len(connections)
    if not count:
        return f"{quote(account.name)} has no connections."
    data = complete_data_words(sources.coverage)
    noun = "connection" if count == 1 else "connections"
    if not unwell:
        well = "all up to date" if notices.summary else "all healthy"
        return f"{quote(account.name)} has {count} {noun}, {well}; {data}{notices.summary}."
    names = join_first([f"{quote(each.name)} ({_word(each)})" for each in unwell], NAMED)
    verb = "needs" if len(unwell) == 1 else "need"
    return f"{len(unwell)} of {count} {noun} of {quote(account.name)} {verb} attention: {names}; {data}{notices.summary}."


def _hint(connections: Sequence[ConnectionHealth], unwell: Sequence[ConnectionHealth]) -> str:
    if not connections:
        return "Connect a cost source on the Connections page."
    if unwell:
        return (
            "Each connection's page shows the error and what to do. Until it is fixed, say what is missing."
        )
    return "The data is up to date. Query it with querySpend."
