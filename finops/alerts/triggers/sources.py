"""Sources that are late or whose syncs fail: start and end of episodes, and their messages.

A failing episode starts with the second failure in a row and ends with the next sync that does not fail. A late
episode starts when a delivery is overdue and ends with the next delivery. Each start and each end is sent once.

When a delivery of cost or usage is overdue is the rule of Data health, whether it is pulled or pushed; usage also waits as long as it was
silent before, since many a product rests at weekends. Change events have no rhythm: of their sources only those that pull are watched, and
they are late when no sync has begun for SYNC_LATE.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Final, Literal

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.connections.queries import ConnectionOverview, every_connection_overview
from finops.costs.queries.sources import cost_deliveries
from finops.insights.connection_health import NEWEST, next_delivery
from finops.lib import clock
from finops.lib.formats import dates
from finops.lib.formats.locales import reader_formats
from finops.lib.sentences import quote, truncate
from ingestion.queries.activity import usage_deliveries

FAILURES_BEFORE_ALERT: Final = 2
"""A single failure may be temporary: the next sync runs within hours."""
LATE_DAYS: Final = 7
"""The maximum days that a delivery is overdue; beyond that it is history."""
SYNC_LATE: Final = timedelta(hours=6)
"""After a restart of all programs, syncs begin within minutes; this is none."""
OPEN_DAYS: Final = 120
"""Days after which the end of an episode is no longer sent."""

PREFIX: Final = "source:"
END: Final = ":end"


SourceKind = Literal["cost", "usage", "events"]

_PAGES: Final[dict[SourceKind, tuple[str, str]]] = {
    "cost": ("connection", "source_id"),
    "usage": ("usage_source", "usage_source_id"),
    "events": ("event_source", "event_source_id"),
}
_LATE_ADVICE: Final[dict[SourceKind, str]] = {
    "cost": "Check that the provider still writes its export.",
    "usage": "Check that the vendor still has usage, or that your backend still pushes events.",
    "events": "Ask the operator to check that workers run.",
}


@dataclass(frozen=True)
class SourceRef:
    """A source of cost, usage or change events."""

    kind: SourceKind
    id: int

    @property
    def key(self) -> str:
        """In keys of episodes: `7` of cost, as when there were no others, `usage-7`, `events-7`."""
        return str(self.id) if self.kind == "cost" else f"{self.kind}-{self.id}"

    def url(self, account: Account) -> str:
        page, argument = _PAGES[self.kind]
        return console_url(account, page, **{argument: self.id})


@dataclass(frozen=True)
class SourceEpisode:
    """A source that is late or failing now. `since`: time of the first failure, or when the delivery was due."""

    source: SourceRef
    name: str
    is_failing: bool
    since: datetime
    mark: str
    """The episode's identifier, constant while it lasts."""
    is_news: bool = True
    error: str = ""
    last_at: datetime | None = None
    next_sync_at: datetime | None = None

    @property
    def key(self) -> str:
        kind = "failing" if self.is_failing else "late"
        return f"{PREFIX}{self.source.key}:{kind}:{self.mark}"


@dataclass(frozen=True)
class SourceStates:
    """How the sources of an account are. `paused` ones have no state."""

    names: Mapping[SourceRef, str]
    episodes: Sequence[SourceEpisode]
    paused: Collection[SourceRef]

    def ends(self, keys: Collection[str]) -> Iterator[tuple[SourceRef, str, tuple[str, ...]]]:
        """Yield sources that are well again, with their name and the keys that end their episodes among the fired keys."""
        unwell = {*self.paused, *(each.source for each in self.episodes)}
        well = {source.key: source for source in self.names if source not in unwell}
        for key, ends in open_ends(keys).items():
            if key in well:
                yield well[key], self.names[well[key]], ends

    def starts(self, keys: Collection[str]) -> list[SourceEpisode]:
        """Return episodes that are news and not among the fired keys."""
        return [each for each in self.episodes if each.is_news and each.key not in keys]


def source_states(account: Account, cost_names: Mapping[int, str]) -> SourceStates:
    """Return the states of the sources of the account in scope, at most one episode each. `cost_names` are those of its
    cost sources. Five queries."""
    overviews = every_connection_overview(account)
    rows = {_source_of(row): row for row in overviews}
    deliveries = cost_deliveries(account)
    days = {SourceRef("cost", pk): [each.at for each in deliveries.get(pk, [])] for pk in cost_names}
    names = {SourceRef("cost", pk): name for pk, name in cost_names.items()}
    usage = {SourceRef("usage", each.source_id): each for each in usage_deliveries(account)}
    names |= {source: each.name for source, each in usage.items()}
    names |= {source: row.connection.target.name for source, row in rows.items() if source.kind == "events"}
    paused = {source for source, row in rows.items() if row.connection.paused_at is not None}
    episodes: list[SourceEpisode | None] = []
    for source, name in names.items():
        if source in paused:
            continue
        row = rows.get(source)
        if row is not None and row.failing_since is not None:
            episodes.append(_failing_episode(source, name, row, row.failing_since))
        elif source.kind == "cost":
            times = days[source]
            last = times[-1] if times else None
            episodes.append(_late_episode(source, name, row, [at.date() for at in times], last))
        elif source.kind == "usage":
            episodes.append(_late_usage(source, name, row, usage[source].days))
        elif row is not None:
            episodes.append(_late_sync(source, name, row))
    return SourceStates(names, [each for each in episodes if each is not None], paused)


def _source_of(row: ConnectionOverview) -> SourceRef:
    connection = row.connection
    if connection.source_id is not None:
        return SourceRef("cost", connection.source_id)
    return SourceRef("usage" if connection.usage_source_id is not None else "events", connection.target_id)


def _late_episode(
    source: SourceRef,
    name: str,
    row: ConnectionOverview | None,
    days: Sequence[date],
    last: datetime | None,
    wait: timedelta = timedelta(0),
) -> SourceEpisode | None:
    """`wait`: the least time since the last delivery."""
    now = clock.now()
    due, _is_late = next_delivery(days, last, now)
    if due is None or last is None:
        return None
    due = max(due, last + wait)
    if due >= now:
        return None
    next_sync = row.next_sync_at if row else None
    mark, is_news = f"{last:%Y-%m-%d}", now - due <= timedelta(days=LATE_DAYS)
    return SourceEpisode(source, name, False, due, mark, is_news, last_at=last, next_sync_at=next_sync)


def _late_usage(
    source: SourceRef, name: str, row: ConnectionOverview | None, days: Sequence[date]
) -> SourceEpisode | None:
    if not days:
        return None
    # From the end of its last day: events come all day long.
    last = datetime.combine(days[-1] + timedelta(days=1), time.min, UTC)
    longest = max((later - earlier for earlier, later in pairwise(days[-NEWEST:])), default=timedelta(0))
    return _late_episode(source, name, row, days, last, longest + timedelta(hours=12))


def _late_sync(source: SourceRef, name: str, row: ConnectionOverview) -> SourceEpisode | None:
    due, now = row.next_sync_at, clock.now()
    if due is None or row.status != "healthy" or now <= due + SYNC_LATE:
        return None
    return SourceEpisode(source, name, False, due, f"{due:%Y-%m-%d}", last_at=row.last_success_at)


def _failing_episode(
    source: SourceRef, name: str, row: ConnectionOverview, since: datetime
) -> SourceEpisode | None:
    if row.connection.failures < FAILURES_BEFORE_ALERT:
        return None
    return SourceEpisode(
        source,
        name,
        True,
        since,
        since.isoformat(),
        error=row.last_error,
        last_at=row.last_success_at,
        next_sync_at=row.next_sync_at,
    )


def open_ends(keys: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return, by the source's key, the keys that would end the open episodes among the fired keys."""
    ends: dict[str, tuple[str, ...]] = {}
    for key in sorted(keys):
        if not key.endswith(END) and key + END not in keys:
            source = key.removeprefix(PREFIX).split(":")[0]
            ends[source] = (*ends.get(source, ()), key + END)
    return ends


def message(account: Account, episode: SourceEpisode) -> Message:
    source = truncate(episode.name, 100)
    if episode.is_failing:
        event = "is failing"
        summary = (
            f"Syncs have failed since {_moment(episode.since)}. Last error: {truncate(episode.error, 600)}"
        )
    else:
        event = "is late"
        expected = "A sync was due" if episode.source.kind == "events" else "New data was expected by"
        summary = f"{expected} {_moment(episode.since)}. {_LATE_ADVICE[episode.source.kind]}"
    moments = [("Last success", episode.last_at), ("Next sync", episode.next_sync_at)]
    return Message(
        title=f"{quote(account.name)}: source {quote(source)} {event}",
        summary=f"{summary} Existing data is kept.",
        facts=(
            Fact("Account", account.name),
            Fact("Source", source),
            *(Fact(label, _moment(at)) for label, at in moments if at is not None),
        ),
        url=episode.source.url(account),
        severity="warning",
        kind="source",
        dedup_key=_dedup_key(account, episode.source),
        data={
            "source": episode.name,
            "state": "failing" if episode.is_failing else "late",
            "since": episode.since.isoformat(),
            "error": episode.error,
        },
    )


def end_message(account: Account, ref: SourceRef, name: str) -> Message:
    source = truncate(name, 100)
    return Message(
        title=f"{quote(account.name)}: source {quote(source)} recovered",
        summary="Syncs succeed again." if ref.kind == "events" else "New data has arrived.",
        facts=(Fact("Account", account.name), Fact("Source", source)),
        url=ref.url(account),
        kind="source",
        dedup_key=_dedup_key(account, ref),
        is_end=True,
        data={"source": name, "state": "resolved"},
    )


def _dedup_key(account: Account, source: SourceRef) -> str:
    return f"account-{account.pk}:source-{source.key}"


def _moment(moment: datetime) -> str:
    with reader_formats():
        return f"{dates.moment(moment)} UTC"
