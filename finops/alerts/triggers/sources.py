"""Cost sources that are late or whose syncs fail: start and end of episodes, and their messages.

A failing episode starts with the second failure in a row and ends with the next sync that does not fail. A late
episode starts when a delivery is overdue and ends with the next delivery. Each start and each end is sent once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.connections.queries import ConnectionOverview, connections_overview
from finops.costs.queries.sources import cost_deliveries
from finops.insights.data_health import next_delivery
from finops.lib import clock
from finops.lib.formats import dates
from finops.lib.formats.locales import reader_formats
from finops.lib.sentences import quote, truncate

FAILURES_BEFORE_ALERT: Final = 2
"""A single failure may be temporary: the next sync runs within hours."""
LATE_DAYS: Final = 7
"""The maximum days that a delivery is overdue; beyond that it is history."""
OPEN_DAYS: Final = 120
"""Days after which the end of an episode is no longer sent."""

PREFIX: Final = "source:"
END: Final = ":end"


@dataclass(frozen=True)
class SourceEpisode:
    """A source that is late or failing now. `since`: time of the first failure, or when the delivery was due."""

    source_id: int
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
        return f"{PREFIX}{self.source_id}:{kind}:{self.mark}"


def episodes(account: Account, names: Mapping[int, str]) -> tuple[list[SourceEpisode], set[int]]:
    """Return episodes of the account in scope, at most one per source, and the ids of paused sources, whose state is
    unknown. `names` are those of its sources. Three queries."""
    now = clock.now()
    rows = {row.connection.cost_source.pk: row for row in connections_overview(account)}
    deliveries = cost_deliveries(account)
    idle = {source_id for source_id, row in rows.items() if row.connection.paused_at is not None}
    current: list[SourceEpisode] = []
    for source_id, name in names.items():
        if source_id in idle:
            continue
        row = rows.get(source_id)
        if row is not None and row.failing_since is not None:
            if row.connection.failures >= FAILURES_BEFORE_ALERT:
                current.append(_failing_episode(source_id, name, row, row.failing_since))
            continue
        times = [each.at for each in deliveries.get(source_id, [])]
        last = times[-1] if times else None
        due, is_late = next_delivery([at.date() for at in times], last, now)
        if due is not None and last is not None and is_late:
            next_sync = row.next_sync_at if row else None
            mark, is_news = f"{last:%Y-%m-%d}", now - due <= timedelta(days=LATE_DAYS)
            current.append(
                SourceEpisode(
                    source_id, name, False, due, mark, is_news, last_at=last, next_sync_at=next_sync
                )
            )
    return current, idle


def _failing_episode(source_id: int, name: str, row: ConnectionOverview, since: datetime) -> SourceEpisode:
    return SourceEpisode(
        source_id,
        name,
        True,
        since,
        since.isoformat(),
        error=row.last_error,
        last_at=row.last_success_at,
        next_sync_at=row.next_sync_at,
    )


def open_ends(keys: Collection[str]) -> dict[int, tuple[str, ...]]:
    """Return, by source, the keys that would end the open episodes among the fired keys."""
    ends: dict[int, tuple[str, ...]] = {}
    for key in sorted(keys):
        if not key.endswith(END) and key + END not in keys:
            source_id = int(key.removeprefix(PREFIX).split(":")[0])
            ends[source_id] = (*ends.get(source_id, ()), key + END)
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
        summary = f"New data was expected by {_moment(episode.since)}. Check that the provider still writes its export."
    moments = [("Last success", episode.last_at), ("Next sync", episode.next_sync_at)]
    return Message(
        title=f"{quote(account.name)}: source {quote(source)} {event}",
        summary=f"{summary} Existing data is kept.",
        facts=(
            Fact("Account", account.name),
            Fact("Source", source),
            *(Fact(label, _moment(at)) for label, at in moments if at is not None),
        ),
        url=console_url(account, "connection", source_id=episode.source_id),
        severity="warning",
        kind="source",
        dedup_key=_dedup_key(account, episode.source_id),
        data={
            "source": episode.name,
            "state": "failing" if episode.is_failing else "late",
            "since": episode.since.isoformat(),
            "error": episode.error,
        },
    )


def end_message(account: Account, source_id: int, name: str) -> Message:
    source = truncate(name, 100)
    return Message(
        title=f"{quote(account.name)}: source {quote(source)} recovered",
        summary="New data has arrived.",
        facts=(Fact("Account", account.name), Fact("Source", source)),
        url=console_url(account, "connection", source_id=source_id),
        kind="source",
        dedup_key=_dedup_key(account, source_id),
        is_end=True,
        data={"source": name, "state": "resolved"},
    )


def _dedup_key(account: Account, source_id: int) -> str:
    return f"account-{account.pk}:source-{source_id}"


def _moment(moment: datetime) -> str:
    with reader_formats():
        return f"{dates.moment(moment)} UTC"
