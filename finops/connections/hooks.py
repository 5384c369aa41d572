"""Registrations of connections with other apps: deletion of files, first steps, source panels, and problems for answers about cost."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Final

import msgspec
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.signals import post_delete
from django.dispatch import receiver

from accounts.first_steps import FirstStep, first_steps
from accounts.models import Account, Role
from accounts.scoping import account_scope
from accounts.services.deletion import account_files
from finops.change_events.models import EventSource
from finops.change_events.source_panels import EventSourcePanel, event_source_panels
from finops.connections.links import ConnectionLinks
from finops.connections.models import CostConnection, CostKey, CostPush
from finops.connections.services import push_folders
from finops.connections.states import GRACE, connection_state, usage_connection_states
from finops.costs.forms import upload_cautions
from finops.costs.models import CostSource
from finops.costs.queries.source_problems import ProblemQuery, SourceProblem, source_problems
from finops.lib.sentences import truncate
from finops.lib.usage_problems import UsageProblem, UsageProblemQuery, usage_problems
from ingestion.models import UsageSource
from ingestion.source_panels import PullState, SourcePanel, pull_states, source_panels

_LATEST: Final = f"%(now)s::timestamptz - interval '{GRACE.total_seconds():.0f} seconds'"

account_files.add("connections", push_folders.remove_of_account)


@receiver(post_delete, sender=CostPush, dispatch_uid="remove_push_files")
def remove_parts(instance: CostPush, **_: Any) -> None:
    public_id = instance.public_id
    transaction.on_commit(lambda: push_folders.remove(public_id))


@upload_cautions.register("syncs")
def synced_sources(account: Account) -> dict[int, str]:
    """Return warnings for sources that syncs fill, except paused ones. One query."""
    with account_scope(account):
        rows = CostConnection.objects.filter(paused_at=None, source__isnull=False).values_list(
            "source_id", "source__name"
        )
    return {
        source_id: f"Syncs import the cost of {truncate(name, 60)!r}. The next one replaces uploaded months that the provider still has. "
        "Upload into a new source, pause its syncs first, or check “Upload anyway”."
        for source_id, name in rows
    }


@upload_cautions.register("pushes")
def pushed_sources(account: Account) -> dict[int, str]:
    """Return warnings for sources that a program has pushed cost to, and whose key is still valid. One query."""
    with account_scope(account):
        pushed = CostPush.objects.filter(source=OuterRef("source"), status=CostPush.PushStatus.DONE)
        rows = CostKey.objects.filter(Exists(pushed), revoked_at=None).values_list(
            "source_id", "source__name"
        )
    return {
        source_id: f"A program pushes the cost of {truncate(name, 60)!r}. Its next push of a month replaces the upload. Upload into a "
        "new source, revoke the key first, or check “Upload anyway”."
        for source_id, name in rows
    }


_PROBLEM: Final = f"""c.paused_at IS NULL AND (
    c.failures > 0 OR c.next_sync_at < {_LATEST} AND NOT EXISTS (SELECT FROM connections_costsync r
    WHERE r.connection_id = c.id AND r.status = 'running' AND r.heartbeat_at > {_LATEST}))"""
"""SQL condition of connections whose syncs fail, or whose sync is overdue and not running; paused ones are excluded."""
_SYNC_PROBLEMS: Final = f"""
SELECT json_agg(json_build_array(c.source_id, c.failing_since, c.next_sync_at) ORDER BY c.failing_since NULLS LAST, c.next_sync_at)
FROM connections_costconnection c WHERE c.account_id = %(account)s AND c.source_id IS NOT NULL AND {_PROBLEM}
"""  # noqa: S608 - of our own constants
_USAGE_PROBLEMS: Final = f"""
SELECT json_agg(json_build_array(s.name, c.failing_since, c.next_sync_at, c.last_success_at) ORDER BY s.name)
FROM connections_costconnection c JOIN ingestion_usagesource s ON s.id = c.usage_source_id
WHERE c.account_id = %(account)s AND {_PROBLEM}
"""  # noqa: S608 - of our own constants

_decode_problems = msgspec.json.Decoder(list[tuple[int, datetime | None, datetime]]).decode


def read_sync_problems(text: str) -> list[SourceProblem]:
    """Parse the result of `_SYNC_PROBLEMS`."""
    return [
        SourceProblem(source_id, f"syncs of {{name}} have failed since {_moment(since)}")
        if since is not None
        else SourceProblem(source_id, f"a sync of {{name}} has been due since {_moment(due)}")
        for source_id, since, due in _decode_problems(text)
    ]


_decode_usage = msgspec.json.Decoder(list[tuple[str, datetime | None, datetime, datetime | None]]).decode


def read_usage_problems(text: str) -> list[UsageProblem]:
    """Parse the result of `_USAGE_PROBLEMS`."""
    return [
        UsageProblem(
            name,
            f"syncs of usage source {{name}} have failed since {_moment(since)}"
            if since is not None
            else f"a sync of usage source {{name}} has been due since {_moment(due)}",
            success.astimezone(UTC).date() if success else date.min,
        )
        for name, since, due, success in _decode_usage(text)
    ]


def _moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


source_problems.add("syncs", ProblemQuery(_SYNC_PROBLEMS, read_sync_problems))
usage_problems.add("syncs", UsageProblemQuery(_USAGE_PROBLEMS, read_usage_problems))


@source_panels.register("connection")
def pull_panel(source: UsageSource) -> SourcePanel | None:
    """Return the panel of a usage source's connection. No query for a source that is pushed to, four for one with a connection."""
    rows = CostConnection.objects.select_related("account", "usage_source")
    connection = rows.filter(usage_source=source).first() if source.kind == UsageSource.Kind.PULL else None
    if connection is None:
        return None
    return SourcePanel(_PANEL, _panel_context(connection))


@pull_states.register("connections")
def states_of_pulls(account: Account) -> dict[int, PullState]:
    """Return the state of each usage source with a connection. Three queries."""
    return {
        source_id: PullState(state.title, state.status, state.last_sync_at, state.last_error)
        for source_id, state in usage_connection_states(account).items()
    }


@event_source_panels.register("connection")
def event_pull_panel(source: EventSource) -> EventSourcePanel | None:
    """Return the panel of an event source's connection, as `pull_panel` does."""
    rows = CostConnection.objects.select_related("account", "event_source")
    connection = rows.filter(event_source=source).first() if source.kind == EventSource.Kind.PULL else None
    return EventSourcePanel(_PANEL, _panel_context(connection)) if connection else None


_PANEL: Final = "connections/_pull.html"


def _panel_context(connection: CostConnection) -> dict[str, object]:
    links = ConnectionLinks(connection.account.slug, connection)
    return {"connection": connection, "state": connection_state(connection), "links": links}


def _has_source(_account: Account) -> Q:
    return Q(Exists(CostSource.objects.all()))


_FIRST_SOURCE: Final = FirstStep(
    title="Connect a source",
    text="AWS, Azure, Google Cloud, or a file.",
    action="Connect source",
    url_name="connection_new",
    icon="plug-connected",
    place=10,
    role=Role.MEMBER,
    is_done=_has_source,
)
first_steps.add("source", _FIRST_SOURCE)
