"""How well the data of every connection is: the one query behind the page Data health and the tool getDataHealth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from accounts.models import Account
from finops.costs.answers import AccountRef
from finops.costs.queries.closed_months import restatement_sentences
from finops.costs.queries.import_notices import ImportNotices, import_notices
from finops.costs.queries.sources import Sources, cost_deliveries, load_sources
from finops.insights.data_health.answers import ConnectionHealth, HealthAnswer
from finops.insights.data_health.connections import (
    by_need,
    cost_connection,
    needs_attention,
    usage_connection,
)
from finops.insights.data_health.gaps import LOOKED_AT_DAYS, days_of_sources
from finops.lake.engine.engine import LakeTooLarge, LakeUnavailable
from finops.lake.usage import flush_scheduler
from finops.lake.usage.flush_scheduler import StuckFlush
from finops.lib import clock, disk
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, quote
from ingestion.queries.deliveries import usage_deliveries

SHOWN = 50
NAMED = 5


def data_health(account: Account, *, deadline: float | None = None, shown: int = SHOWN) -> HealthAnswer:
    """Every connection of the account and how it is, those that need somebody first; and whether usage is stuck.

    Seven queries of PostgreSQL, and one lake query (two columns of 92 days) that finds days without cost lines; where the
    lake cannot answer it, gaps are not looked for and a warning says so.
    """
    sources, usage = load_sources(account), flush_scheduler.stuck(account)
    notices, low_disk = import_notices(account), disk.low_disk()
    gaps_unknown, connections = _connections(account, sources, deadline)
    unwell = [each for each in connections if needs_attention(each)]
    return HealthAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, sources, connections, unwell, notices)
        + (" Moving usage to the lake is stuck." if usage else "")
        + (" Imports and uploads wait for disk space." if low_disk else ""),
        today=sources.coverage.today,
        data_from=sources.coverage.first_day,
        data_through=sources.coverage.complete_through,
        connections=connections[:shown],
        truncated=_truncation_text(len(connections), shown),
        warnings=[
            *([low_disk] if low_disk else []),
            *notices.sentences,
            *_warnings(unwell[:shown], usage),
            *gaps_unknown,
            *restatement_sentences(sources),
        ],
        hint=_hint(connections, unwell),
    )


def _connections(
    account: Account, sources: Sources, deadline: float | None
) -> tuple[list[str], list[ConnectionHealth]]:
    now, deliveries = clock.now(), cost_deliveries(account)
    days = _days(sources)
    unknown, present = _present(account, sources, days, deadline)
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
    usage = [usage_connection(each, now) for each in usage_deliveries(account)]
    return unknown, sorted([*cost, *usage], key=by_need)


def _days(sources: Sources) -> DateRange | None:
    through = sources.coverage.complete_through
    return DateRange(through - timedelta(days=LOOKED_AT_DAYS - 1), through) if through else None


def _present(
    account: Account, sources: Sources, days: DateRange | None, deadline: float | None
) -> tuple[list[str], Mapping[int, set[date]]]:
    """The days with lines by source; what health says must not fail with the lake."""
    if days is None:
        return [], {}
    try:
        return [], days_of_sources(account, days, sources.manifest, deadline=deadline)
    except (LakeUnavailable, LakeTooLarge) as problem:
        return [f"Days without cost lines were not looked for: {problem.message}"], {}


def _warnings(unwell: Sequence[ConnectionHealth], usage: StuckFlush | None) -> list[str]:
    warnings = [
        f"{_noun(each)} {each.name!r} is {_word(each)}: {each.reason} {each.what_to_do}".strip()
        for each in unwell
    ]
    if usage is not None:
        warnings.append(
            f"Usage events are accepted and counted, but have not been moved to the lake since "
            f"{usage.since:%Y-%m-%d %H:%M} UTC: {usage.reason}. Nothing is lost, and it is tried again by itself; "
            "if it stays so, the operator of this server must look into it."
        )
    return warnings


def _noun(each: ConnectionHealth) -> str:
    return "Source" if each.kind == "cost" else "Usage source"


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
        return f"{quote(account.name)} has no connection yet."
    through = sources.coverage.complete_through
    data = f"cost data is complete through {through}" if through else "there is no cost data yet"
    noun = "connection" if count == 1 else "connections"
    if not unwell:
        well = "all delivering" if notices.summary else "all well"
        return f"{quote(account.name)} has {count} {noun}, {well}; {data}{notices.summary}."
    names = join_with_and([f"{quote(each.name)} ({_word(each)})" for each in unwell[:NAMED]])
    more = f" and {len(unwell) - NAMED} more" if len(unwell) > NAMED else ""
    verb = "needs" if len(unwell) == 1 else "need"
    return f"{len(unwell)} of {count} {noun} of {quote(account.name)} {verb} attention: {names}{more}; {data}{notices.summary}."


def _truncation_text(count: int, shown: int) -> str:
    return f"{shown} of {count} connections are listed, the unhealthy ones first." if count > shown else ""


def _hint(connections: Sequence[ConnectionHealth], unwell: Sequence[ConnectionHealth]) -> str:
    if not connections:
        return "Connect a cost source and import its FOCUS files on the Connections page."
    if unwell:
        return "Each connection's page says what went wrong and what to do; until then say what is missing."
    return "The data is as new as its sources deliver; querySpend answers from it."
