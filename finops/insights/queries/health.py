"""Reads about how well the data is."""

from __future__ import annotations

from accounts.models import Account
from finops.costs.answers import AccountRef, HealthAnswer, SourceHealth
from finops.costs.queries.sources import FAILING, HEALTHY, IMPORTING, NO_DATA, STALE, Sources, load_sources
from finops.lake import flushing
from finops.lake.flushing import Stuck
from finops.lib.spoken import listed

SHOWN = 50
_WORST_FIRST = (FAILING, STALE, NO_DATA, IMPORTING, HEALTHY)


def data_health(account: Account) -> HealthAnswer:
    """Every connection of the account and how it is, the unhealthy ones first; and whether usage is stuck on its way.

    Three queries, none of the lake's files.
    """
    sources, usage = load_sources(account), flushing.stuck(account)
    every = sorted(
        sources.health.values(), key=lambda source: (_WORST_FIRST.index(source.status), source.name)
    )
    unwell = [source for source in every if source.status not in (HEALTHY, IMPORTING)]
    return HealthAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, sources, unwell) + (" Moving usage to the lake is stuck." if usage else ""),
        today=sources.coverage.today,
        data_from=sources.coverage.first_day,
        data_through=sources.coverage.complete_through,
        sources=every[:SHOWN],
        truncated=_truncated(len(every)),
        warnings=_warnings(unwell[:SHOWN], usage),
        hint=_hint(every, unwell),
    )


def _warnings(unwell: list[SourceHealth], usage: Stuck | None) -> list[str]:
    warnings = [f"Source {source.name!r} is {_word(source)}: {source.reason}" for source in unwell]
    if usage is not None:
        warnings.append(
            f"Usage events are accepted and counted, but have not been moved to the lake since "
            f"{usage.since:%Y-%m-%d %H:%M} UTC: {usage.reason}. Nothing is lost, and it is tried again by itself; "
            "if it stays so, the operator of this server must look into it."
        )
    return warnings


def _word(source: SourceHealth) -> str:
    return source.status.replace("_", " ")


def _summary(account: Account, sources: Sources, unwell: list[SourceHealth]) -> str:
    count = len(sources.health)
    if not count:
        return f"{account.name} has no connection yet."
    through = sources.coverage.complete_through
    data = f"cost data is complete through {through}" if through else "there is no cost data yet"
    noun = "connection" if count == 1 else "connections"
    if not unwell:
        return f"{account.name} has {count} {noun}, all well; {data}."
    names = listed([f"{source.name} ({_word(source)})" for source in unwell[:5]])
    more = f" and {len(unwell) - 5} more" if len(unwell) > 5 else ""
    return f"{len(unwell)} of {count} {noun} of {account.name} need attention: {names}{more}; {data}."


def _truncated(count: int) -> str:
    return f"{SHOWN} of {count} connections are listed, the unhealthy ones first." if count > SHOWN else ""


def _hint(every: list[SourceHealth], unwell: list[SourceHealth]) -> str:
    if not every:
        return "Connect a cost source and import its FOCUS files on the Connections page."
    if unwell:
        return (
            "The Connections page says what went wrong and takes a new file; until then say what is missing."
        )
    return "The data is as new as its sources deliver; querySpend answers from it."
