"""The part of a source's health that its syncs add: the time of the next sync, and why syncs fail;
and what its cloud's recommendations lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import msgspec

from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.queries import ConnectionOverview, every_connection_overview, months_to_read_again
from finops.connections.states import LATE, ConnectionState
from finops.costs.queries.sources import ERROR_LENGTH, FAILING, HEALTHY, IMPORTING, NO_DATA, PARTIAL
from finops.insights.connection_health import ConnectionHealth
from finops.insights.models import RecommendationRefresh
from finops.insights.savings.candidates import RULES
from finops.insights.savings.freshness import is_incomplete, problem_of
from finops.lib.sentences import join_with_and, truncate

_RETRY: Final = "Fix the last error, then sync again."
_RESUME: Final = "Resume syncs on its page."
_NOTHING: Final = {
    "cost": (
        "No cost lines found yet.",
        "Check the connection's settings and that the provider writes its export there.",
    ),
    "usage": ("No usage found yet.", "Check the connection's settings and that the vendor has usage."),
    "events": ("No events found yet.", "Check the connection's settings and that the vendor has events."),
}
MONTHS_NAMED: Final = 6
_OLD: Final = {
    "cost": "The last sync found no newer data. Check that the provider still writes its export.",
    "usage": "The last sync found no newer usage. Check that the vendor still has it.",
    "events": "The last sync found no newer events. Check that the vendor still has them.",
}
_NO_WORKER: Final = "Ask the operator of this server to check that workers run."


@dataclass(frozen=True)
class SyncFacts:
    """How the connections of an account are, by the source that each fills."""

    cost: Mapping[int, ConnectionOverview]
    usage: Mapping[int, ConnectionOverview]
    events: Mapping[int, ConnectionOverview]
    uploaded: Mapping[int, Sequence[date]]
    """Months that an upload has changed since a sync, by connection."""

    @classmethod
    def of_account(cls, account: Account) -> SyncFacts:
        """Three queries, two more with synced cost sources."""
        rows = every_connection_overview(account)
        cost = {row.connection.source_id: row for row in rows if row.connection.source_id is not None}
        usage = {
            row.connection.usage_source_id: row for row in rows if row.connection.usage_source_id is not None
        }
        events = {
            row.connection.event_source_id: row for row in rows if row.connection.event_source_id is not None
        }
        with account_scope(account):
            uploaded = months_to_read_again([row.connection for row in cost.values()]) if cost else {}
        return cls(cost, usage, events, uploaded)

    def with_cost(self, source_id: int, health: ConnectionHealth) -> ConnectionHealth:
        """The health of a cost source with what its syncs add, if it has any."""
        row = self.cost.get(source_id)
        return with_syncs(health, row, self.uploaded.get(row.connection.pk, ())) if row else health

    def with_usage(self, source_id: int, health: ConnectionHealth) -> ConnectionHealth:
        """As `with_cost`, of a usage source."""
        row = self.usage.get(source_id)
        return with_syncs(health, row) if row else health

    def with_events(self, source_id: int, health: ConnectionHealth) -> ConnectionHealth:
        """As `with_cost`, of an event source."""
        row = self.events.get(source_id)
        return with_syncs(health, row) if row else health


def with_syncs(
    health: ConnectionHealth, row: ConnectionOverview, uploaded: Sequence[date] = ()
) -> ConnectionHealth:
    """The health of a source whose files are fetched; `uploaded` are months that an upload has changed since a sync. Pure.

    Data is expected by its rhythm, and no sooner than the next sync looks. Syncs that fail come before anything that an
    import said.
    """
    if uploaded:
        health = msgspec.structs.replace(health, reason=f"{health.reason} {_uploaded_text(uploaded)}")
    facts = msgspec.structs.replace(
        health,
        last_success_at=row.last_success_at or health.last_success_at,
        last_error=truncate(row.last_error, ERROR_LENGTH) or health.last_error,
    )
    if row.connection.paused_at is not None:
        return _pause_facts(facts, row.connection.paused_at)
    if row.next_sync_at is not None:
        facts = _with_next_sync(facts, row.next_sync_at)
    if row.failing_since is not None:
        since = f"{row.failing_since:%Y-%m-%d %H:%M} UTC"
        data_note = "" if health.data_through is None else " Existing data is kept."
        reason = f"Syncs have failed since {since}.{data_note} Last error: {facts.last_error}"
        return msgspec.structs.replace(facts, status=FAILING, reason=reason, what_to_do=_RETRY)
    if row.next_sync_at is not None and ConnectionState(row).status == LATE:
        return _late_facts(facts, row.next_sync_at)
    if health.status == NO_DATA and row.status == "syncing":
        return msgspec.structs.replace(
            facts, status=IMPORTING, reason="The first sync is running.", what_to_do=""
        )
    if health.status == NO_DATA:
        reason, advice = _NOTHING[health.kind]
        return msgspec.structs.replace(facts, reason=reason, what_to_do=advice)
    if health.overdue or health.status not in (HEALTHY, IMPORTING, PARTIAL, FAILING):
        return msgspec.structs.replace(facts, what_to_do=_OLD[health.kind])
    return facts


def _uploaded_text(months: Sequence[date]) -> str:
    names = join_with_and([f"{month:%Y-%m}" for month in months[-MONTHS_NAMED:]])
    more = f" and {len(months) - MONTHS_NAMED} more" if len(months) > MONTHS_NAMED else ""
    verb = "was" if len(months) == 1 else "were"
    return f"{names}{more} {verb} changed by an upload. The next sync replaces it unless syncs are paused."


def with_recommendations(health: ConnectionHealth, refresh: RecommendationRefresh) -> ConnectionHealth:
    """The health of a source with what its cloud's recommendations lack. They are no part of the bill, so its status stays."""
    if not is_incomplete(refresh):
        return health
    text = f"Recommendations of {RULES[refresh.rule].label}: {problem_of(refresh)}"
    return msgspec.structs.replace(health, reason=f"{health.reason} {text}".strip())


def _pause_facts(health: ConnectionHealth, since: datetime) -> ConnectionHealth:
    text = f"Syncs have been paused since {since:%Y-%m-%d %H:%M} UTC."
    return msgspec.structs.replace(
        health,
        reason=f"{health.reason} {text}",
        what_to_do=_RESUME,
        expected_by=None,
        expected_reason=text,
        overdue=False,
    )


def _late_facts(health: ConnectionHealth, due: datetime) -> ConnectionHealth:
    """Of a source whose sync no worker takes. A source that was healthy is overdue."""
    text = f"A sync has been due since {due:%Y-%m-%d %H:%M} UTC."
    return msgspec.structs.replace(
        health,
        reason=f"{health.reason} {text}",
        what_to_do=_NO_WORKER,
        expected_by=due,
        expected_reason="",
        overdue=True,
    )


def _with_next_sync(health: ConnectionHealth, next_sync: datetime) -> ConnectionHealth:
    next_text = f"Next sync on {next_sync:%Y-%m-%d %H:%M} UTC."
    if health.expected_by is None:
        return msgspec.structs.replace(
            health, expected_reason=f"{next_text} {health.expected_reason}".strip()
        )
    return msgspec.structs.replace(
        health, expected_by=max(health.expected_by, next_sync), expected_reason=next_text
    )
